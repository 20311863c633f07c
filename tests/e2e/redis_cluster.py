"""Real redis-servers on loopback, alone or as a cluster of three masters and three replicas, with
the faults of real ones. Nothing is left behind: a server dies with the process that started it."""

import ctypes
import os
import pathlib
import random
import signal
import socket
import subprocess
import time

import trawl_testing as t

SLOTS = 16384
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1


def die_with_parent():
    """For a child before exec: it is killed when the thread that started it ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class RedisError(Exception):
    """An answer that is an error."""


class Connection:
    """A connection of its own for a few commands; answers are bytes, int, None and lists."""

    def __init__(self, port, password=None, timeout=5.0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.file = self.socket.makefile("rb")
        if password:
            self.command("AUTH", password)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, *words):
        encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(encoded)
                            + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded))

    def command(self, *words):
        self.send(*words)
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RedisError(rest.decode("latin-1"))
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if int(rest) < 0:
            return None
        if kind == b"*":
            return [self._element() for _ in range(int(rest))]
        return self.file.read(int(rest) + 2)[:-2]

    def _element(self):
        try:
            return self.reply()
        except RedisError as error:
            return error


def slot_of(key):
    """As the documentation of Redis Cluster has it: CRC16 of the tag in braces, or of all."""
    key = key.encode() if isinstance(key, str) else key
    start = key.find(b"{")
    end = key.find(b"}", start + 1)
    if start >= 0 and end > start + 1:
        key = key[start + 1:end]
    crc = 0
    for byte in key:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc % SLOTS


def free_redis_port():
    """The cluster's own port is 10,000 higher; both are below those that the system gives to
    clients."""
    for _ in range(1000):
        port = random.SystemRandom().randrange(11000, 21999)
        try:
            for each in (port, port + 10000):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", each))
            return port
        except OSError:
            continue
    raise t.Failure("no free ports for redis-server")


def write_certificate(directory):
    """Of 127.0.0.1, signed with its own key: the paths of both."""
    pem, key = pathlib.Path(directory) / "redis.pem", pathlib.Path(directory) / "redis.key"
    subprocess.run([t.program("openssl", "openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", pem],
                   check=True, timeout=60, capture_output=True)
    return pem, key


class RedisServer:
    """One redis-server; `settings` are further ones, {"maxmemory-policy": "noeviction"}. With
    `certificate` (and its key) `address` is that for TLS, which the nodes use too; the test's own
    commands are in plain text."""

    def __init__(self, directory, settings=None, aof=True, password=None, certificate=None):
        self.program = t.program("redis-server", "redis-server")
        self.port = free_redis_port()
        self.client_port = free_redis_port() if certificate else self.port
        self.address = f"127.0.0.1:{self.client_port}"
        self.addresses = [self.address]
        self.password = password
        self.directory = pathlib.Path(directory) / f"redis-{self.port}"
        self.directory.mkdir(parents=True)
        self.settings = {"port": self.port, "bind": "127.0.0.1", "save": "", "dir": self.directory,
                         "logfile": self.directory / "log", "repl-diskless-sync-delay": 0,
                         "appendonly": "yes" if aof else "no", "appendfsync": "everysec",
                         "maxmemory-policy": "noeviction"}
        if password:
            self.settings["requirepass"] = password
        if certificate:
            pem, key = certificate
            self.settings.update({"tls-port": self.client_port, "tls-cert-file": pem, "tls-key-file": key,
                                  "tls-ca-cert-file": pem, "tls-auth-clients": "no", "tls-cluster": "yes", "tls-replication": "yes"})
        self.settings.update(settings or {})
        self.process = None
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self):
        """Again, with its data and settings."""
        words = [self.program]
        for name, value in self.settings.items():
            words += [f"--{name}", str(value)]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, preexec_fn=die_with_parent)
        t.wait_until(self._is_up, f"redis-server at {self.address}", 30)

    def _is_up(self):
        if self.process.poll() is not None:
            log = self.directory / "log"
            raise t.Failure(f"redis-server ended with {self.process.returncode}\n"
                            + (log.read_text()[-2000:] if log.exists() else ""))
        return self.answers()

    def answers(self):
        try:
            return self.command("PING") == b"PONG"
        except (OSError, RedisError):
            return False

    def connect(self, timeout=5.0):
        return Connection(self.port, self.password, timeout)

    def command(self, *words, timeout=5.0):
        with self.connect(timeout) as connection:
            return connection.command(*words)

    def info(self, section):
        lines = self.command("INFO", section).decode().split("\r\n")
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def cpu(self):
        """Seconds of the main thread, which executes commands, and of all threads where the server
        does not report the former."""
        info = self.info("cpu")
        names = ("used_cpu_user_main_thread", "used_cpu_sys_main_thread")
        if names[0] not in info:
            names = ("used_cpu_user", "used_cpu_sys")
        return sum(float(info[name]) for name in names)

    def memory(self):
        return int(self.info("memory")["used_memory"])

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        if self.is_alive():
            self.process.kill()
            self.process.wait()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def role(self):
        """("master", None) or ("slave", the port of its master)."""
        answer = self.command("ROLE")
        return answer[0].decode(), answer[2] if answer[0] == b"slave" else None

    def keys(self, pattern):
        with self.connect() as connection:
            found, cursor = set(), b"0"
            while True:
                cursor, part = connection.command("SCAN", cursor, "MATCH", pattern, "COUNT", 1000)
                found.update(part)
                if cursor == b"0":
                    return found


class RedisCluster:
    """Three masters, each with a replica, whose nodes may be killed and come back."""

    MASTERS = 3

    def __init__(self, directory, node_timeout=0.8, replicas=1, settings=None, aof=True, certificate=None):
        settings = {"cluster-enabled": "yes", "cluster-config-file": "nodes.conf",
                    "cluster-node-timeout": round(node_timeout * 1000),
                    "cluster-require-full-coverage": "no", "repl-ping-replica-period": 1,
                    **(settings or {})}
        self.nodes = []
        try:
            for _ in range(self.MASTERS * (1 + replicas)):
                self.nodes.append(RedisServer(directory, settings, aof, certificate=certificate))
            self._join()
        except BaseException:
            self.kill_all()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill_all()

    @property
    def addresses(self):
        return [node.address for node in self.nodes]

    def kill(self):
        self.kill_all()

    def _join(self):
        """As redis-cli --cluster create, without its waits."""
        masters = self.nodes[:self.MASTERS]
        bounds = [SLOTS * i // self.MASTERS for i in range(self.MASTERS + 1)]
        for i, node in enumerate(self.nodes):
            node.command("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
            if node in masters:
                node.command("CLUSTER", "ADDSLOTS", *range(bounds[i], bounds[i + 1]))
            else:
                node.command("CLUSTER", "MEET", "127.0.0.1", masters[0].client_port)
        for node in masters[1:]:
            node.command("CLUSTER", "MEET", "127.0.0.1", masters[0].client_port)
        t.wait_until(lambda: all(len(self.table(node)) == len(self.nodes) for node in self.nodes),
                     "the nodes of the cluster to meet", 60)
        for i, node in enumerate(self.nodes[self.MASTERS:]):
            node.command("CLUSTER", "REPLICATE", masters[i % self.MASTERS].command("CLUSTER", "MYID"))
        self.wait_ok()

    @staticmethod
    def table(node):
        """What a node knows of all: {port: (id, flags, port of its master or None, slots)}."""
        lines = [line.split(" ") for line in node.command("CLUSTER", "NODES").decode().split("\n") if line]
        ports = {words[0]: int(words[1].split("@")[0].rsplit(":", 1)[1]) for words in lines}
        return {ports[words[0]]: (words[0], words[2].split(","), ports.get(words[3]), words[8:])
                for words in lines}

    def node(self, port):
        return next(node for node in self.nodes if node.port == port)

    def live(self):
        return [node for node in self.nodes if node.is_alive()]

    def masters(self):
        """Those with slots that live, as a living node sees them."""
        for node in self.live():
            try:
                table = self.table(node)
            except (OSError, RedisError):
                continue
            return [self.node(port) for port, (_, flags, _, slots) in table.items()
                    if "master" in flags and slots and "fail" not in flags and self.node(port).is_alive()]
        return []

    def replica_of(self, master):
        for node in self.live():
            if node.role() == ("slave", master.client_port):
                return node
        return None

    def master_of(self, key):
        slot = slot_of(key)
        for first, last, (_, port, *_), *_ in self.live()[0].command("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return self.node(port)
        raise t.Failure(f"no node has the slot of {key}")

    def is_ok(self):
        """Every slot has a master, all nodes agree, and each replica is in sync."""
        try:
            for node in self.nodes:
                if b"cluster_state:ok" not in node.command("CLUSTER", "INFO"):
                    return False
                if any("fail" in flag or flag == "handshake"
                       for _, flags, _, _ in self.table(node).values() for flag in flags):
                    return False
                replication = node.info("replication")
                if replication["role"] == "slave" and replication["master_link_status"] != "up":
                    return False
            masters = self.masters()
            return len(masters) == self.MASTERS and (len(self.nodes) == len(masters) or
                                                     all(map(self.replica_of, masters)))
        except (OSError, RedisError):
            return False

    def wait_ok(self, timeout=60):
        t.wait_until(self.is_ok, "the cluster to be OK", timeout)

    # --- faults ----------------------------------------------------------------------------------

    def cut_replication(self, replica):
        """The replica gets nothing any more until restore_replication(), and asks again and again."""
        replica.command("CONFIG", "SET", "masterauth", "x")
        replica.command("CLIENT", "KILL", "TYPE", "master")

    def restore_replication(self, replica):
        replica.command("CONFIG", "SET", "masterauth", "")

    def kill_master(self, master, cut=0.4, at_once=lambda: None):
        """Kills a master whose replica did not get what it acknowledged for `cut` seconds; without
        that loopback loses nothing, and a test proves nothing. `at_once` is called at the same
        moment. Returns the replica, or None if it has none: then nothing is done."""
        replica = self.replica_of(master)
        if replica is None:
            return None
        if cut:
            self.cut_replication(replica)
            time.sleep(cut)
        master.kill()
        at_once()
        return replica

    def wait_for_promotion(self, replica, timeout=30):
        t.wait_until(lambda: replica.role()[0] == "master", "a replica to be promoted", timeout)
        self.restore_replication(replica)

    def kill_all(self):
        for node in self.nodes:
            if node.is_alive():
                node.process.kill()  # all, before any is waited for
        for node in self.nodes:
            node.kill()

    def start_all(self):
        for node in self.nodes:
            if not node.is_alive():
                node.start()

    def move_slot(self, slot, target, pause=0.0):
        """Moves a slot to another master while it is used; it stays half moved for `pause`
        seconds."""
        source = self.master_of_slot(slot)
        if source is target:
            return
        ids = {port: entry[0] for port, entry in self.table(target).items()}
        target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source.port])
        source.command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target.port])
        while True:
            keys = source.command("CLUSTER", "GETKEYSINSLOT", slot, 10)
            if not keys:
                break
            source.command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys, timeout=10)
            if pause:
                time.sleep(pause)
                pause = 0.0
        for node in (target, source, *self.masters()):
            node.command("CLUSTER", "SETSLOT", slot, "NODE", ids[target.port])

    def master_of_slot(self, slot):
        for first, last, (_, port, *_), *_ in self.live()[0].command("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return self.node(port)
        raise t.Failure(f"no node has slot {slot}")

    # --- what it holds ---------------------------------------------------------------------------

    def cpu(self):
        return sum(node.cpu() for node in self.live())

    def memory(self):
        return sum(node.memory() for node in self.masters())

    def keys(self, pattern):
        """The keys, each with the node that has it."""
        return {key: node for node in self.masters() for key in node.keys(pattern)}
