// BloomCommands and others: the functions behind the table of commands.
#pragma once

#include "crawler/resp/command.h"

namespace trawl::resp {

// Each writes one reply. Arity and rights are checked before.
struct BloomCommands {
  static void reserve(CommandCall& call);
  static void add(CommandCall& call);
  static void madd(CommandCall& call);
  static void exists(CommandCall& call);
  static void mexists(CommandCall& call);
  static void insert(CommandCall& call);
  static void info(CommandCall& call);
  static void card(CommandCall& call);
};

struct CuckooCommands {
  static void reserve(CommandCall& call);
  static void add(CommandCall& call);
  static void addnx(CommandCall& call);
  static void insert(CommandCall& call);
  static void insertnx(CommandCall& call);
  static void exists(CommandCall& call);
  static void mexists(CommandCall& call);
  static void del(CommandCall& call);
  static void count(CommandCall& call);
  static void info(CommandCall& call);
};

struct KeyCommands {
  static void del(CommandCall& call);
  static void exists(CommandCall& call);
  static void type(CommandCall& call);
  static void keys(CommandCall& call);
  static void scan(CommandCall& call);
  static void dbsize(CommandCall& call);
  static void flushall(CommandCall& call);
};

struct ClientCommands {
  static void ping(CommandCall& call);
  static void echo(CommandCall& call);
  static void auth(CommandCall& call);
  static void hello(CommandCall& call);
  static void select(CommandCall& call);
  static void client(CommandCall& call);
  static void quit(CommandCall& call);
};

struct ServerCommands {
  static void command(CommandCall& call);
  static void config(CommandCall& call);
  static void info(CommandCall& call);
  static void save(CommandCall& call);
  static void bgsave(CommandCall& call);
  static void shutdown(CommandCall& call);
};

}  // namespace trawl::resp
