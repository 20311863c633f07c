// Thread-safety annotations: which mutex guards which data, checked by Clang's -Wthread-safety
// (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html). Other compilers see nothing.
#pragma once

#if defined(__clang__)
#define TRAWL_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define TRAWL_THREAD_ANNOTATION(x)
#endif

// Classes: a lock, and an object that holds a lock while it exists.
#define TRAWL_CAPABILITY(name) TRAWL_THREAD_ANNOTATION(capability(name))
#define TRAWL_SCOPED_CAPABILITY TRAWL_THREAD_ANNOTATION(scoped_lockable)

// Data that may be used only with the lock held; the second guards the target of a pointer.
#define TRAWL_GUARDED_BY(lock) TRAWL_THREAD_ANNOTATION(guarded_by(lock))
#define TRAWL_PT_GUARDED_BY(lock) TRAWL_THREAD_ANNOTATION(pt_guarded_by(lock))

// The order of locks.
#define TRAWL_ACQUIRED_AFTER(...) TRAWL_THREAD_ANNOTATION(acquired_after(__VA_ARGS__))

// Functions that must be called with the locks held (shared: for reading), or without them.
#define TRAWL_REQUIRES(...) TRAWL_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define TRAWL_REQUIRES_SHARED(...) TRAWL_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define TRAWL_EXCLUDES(...) TRAWL_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

// Functions that take locks and release them. The first argument of TRAWL_TRY_ACQUIRE is what the
// function returns if it took the lock.
#define TRAWL_ACQUIRE(...) TRAWL_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define TRAWL_ACQUIRE_SHARED(...) TRAWL_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define TRAWL_RELEASE(...) TRAWL_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define TRAWL_RELEASE_SHARED(...) TRAWL_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define TRAWL_RELEASE_GENERIC(...) TRAWL_THREAD_ANNOTATION(release_generic_capability(__VA_ARGS__))
#define TRAWL_TRY_ACQUIRE(...) TRAWL_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
// The function returns a reference to the lock.
#define TRAWL_RETURN_CAPABILITY(lock) TRAWL_THREAD_ANNOTATION(lock_returned(lock))
// The lock is held (or, for a thread role, the thread has it) after a call of the function.
#define TRAWL_ASSERT_CAPABILITY(...) TRAWL_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
#define TRAWL_ASSERT_SHARED_CAPABILITY(...) \
  TRAWL_THREAD_ANNOTATION(assert_shared_capability(__VA_ARGS__))

// Only for functions whose locking the analysis cannot follow, with a comment that says why.
#define TRAWL_NO_THREAD_SAFETY_ANALYSIS TRAWL_THREAD_ANNOTATION(no_thread_safety_analysis)
