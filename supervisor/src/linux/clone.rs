//! Creates a child with `clone3`, as glibc's `posix_spawn` and Go do.
//!
//! The child shares our memory until it executes its program, so no memory is copied, and it is created inside its
//! cgroup: a process that joins a cgroup by itself waits 6 to 17 ms for the kernel. The standard library supports
//! neither.
//!
//! Before exec, the child runs our code in our memory on a separate stack, while the thread that created it is suspended.
//! So it only makes system calls on values that were prepared before: it never allocates, locks, panics or returns.

#![expect(unsafe_code, reason = "clone3 and a child that shares our memory have no safe interface")]

use std::cell::Cell;
use std::ffi::{CString, c_char, c_void};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::io::retry_on_intr;
use rustix::process::{WaitId, WaitIdOptions, chdir, setsid, waitid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdRegisterError};

use super::child_setup::ChildSetup;

/// The child to create.
#[derive(Debug)]
pub(super) struct ChildSpec<'a> {
    /// An absolute path.
    pub(super) program: CString,
    /// The first one is the program name.
    pub(super) arguments: Vec<CString>,
    /// As `NAME=value`.
    pub(super) environment: Vec<CString>,
    pub(super) workspace: CString,
    /// What becomes its descriptors 0, 1 and 2. Here their numbers must be greater than 2: otherwise one could be
    /// overwritten before it is moved, or stay close-on-exec in its place.
    pub(super) stdio: [BorrowedFd<'a>; 3],
    pub(super) setup: ChildSetup,
    /// The folder of the cgroup that it is created in.
    pub(super) cgroup: Option<BorrowedFd<'a>>,
}

/// Why there is no child.
#[derive(Debug)]
pub(super) enum CloneError {
    /// No child was created. The cause does not matter: the caller forks instead, and reports the error if that fails.
    NotCreated,
    /// A child was created, but could not execute the program, and has exited.
    Exec(io::Error),
}

/// Starts the child and returns its process id and a pidfd. The caller must wait for its exit.
pub(super) fn clone(spec: &ChildSpec<'_>) -> Result<(u32, OwnedFd), CloneError> {
    let arguments = pointers(&spec.arguments);
    let environment = pointers(&spec.environment);
    let stack = Stack::take().map_err(|_| CloneError::NotCreated)?;
    let mut pidfd: RawFd = -1;
    let mut args = CloneArgs {
        flags: CLONE_VM | CLONE_VFORK | CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
        pidfd: (&raw mut pidfd).expose_provenance() as u64,
        exit_signal: u64::from(libc::SIGCHLD.unsigned_abs()),
        stack: stack.usable.expose_provenance() as u64,
        stack_size: STACK as u64,
        ..CloneArgs::default()
    };
    if let Some(cgroup) = spec.cgroup {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = u64::from(cgroup.as_raw_fd().unsigned_abs());
    }
    // The child inherits the mask. Otherwise Ctrl-Z, which goes to our process group, could stop the child before it has
    // left that group, and this thread would wait for it forever.
    let signals = set_blocked_signals(!0).map_err(|_| CloneError::NotCreated)?;
    let context =
        ChildContext { spec, arguments: &arguments, environment: &environment, signals, errno: AtomicI32::new(0) };
    // SAFETY: what the arguments point to outlives the call: `pidfd` is a local i32 that nothing else refers to, and the
    // stack is mapped, has that size, is aligned, and is not in use. CLONE_VFORK suspends this thread in the call until
    // the child has executed its program or exited, so `stack`, `context` and what they borrow outlive the child's use
    // of them. In our memory the child changes only `context.errno`, which is atomic, and the C library's `errno` of
    // this thread, whose thread-local storage it shares. It has separate descriptors, a separate working directory and
    // separate signal actions, because CLONE_FILES, CLONE_FS and CLONE_SIGHAND are not set, and no signal handlers that
    // could run in our memory.
    let result = unsafe { clone3(&args, run_child, &raw const context) };
    // Restores the mask that this thread had before, which cannot fail.
    set_blocked_signals(signals).ok();
    stack.keep();
    // Errors are negative.
    let id = u32::try_from(result).map_err(|_| CloneError::NotCreated)?;
    // SAFETY: a successful `clone3` with CLONE_PIDFD has stored a new, open descriptor that nothing else owns.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    match context.errno.into_inner() {
        0 => Ok((id, pidfd)),
        errno => {
            // It is exiting. An error means that other code in this process waits for all children.
            retry_on_intr(|| waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED)).ok();
            Err(CloneError::Exec(io::Error::from_raw_os_error(errno)))
        }
    }
}

/// Registers the pidfd of a child with the current tokio runtime. It becomes readable when the child exits.
pub(super) fn watch(pidfd: Arc<OwnedFd>) -> Result<AsyncFd<Arc<OwnedFd>>, AsyncFdRegisterError<Arc<OwnedFd>>> {
    // SAFETY: an `OwnedFd` stays open and the same as long as it lives, and the `Arc` keeps it alive.
    unsafe { AsyncFd::register_with_interest(pidfd, Interest::READABLE) }
}

/// What the child uses in our memory.
struct ChildContext<'a> {
    spec: &'a ChildSpec<'a>,
    /// Ends with a null pointer, as does the environment.
    arguments: &'a [*const c_char],
    environment: &'a [*const c_char],
    /// The signal mask for the child: the one of this thread, as with the standard library.
    signals: u64,
    /// Why it could not execute the program, or 0.
    errno: AtomicI32,
}

/// What the child runs before its program.
///
/// # Safety
///
/// Only for a child of [`clone3`], with a `context` that is valid until the child has executed its program or exited.
unsafe extern "C" fn run_child(context: *const ChildContext<'_>) -> ! {
    // SAFETY: the caller guarantees that it is valid.
    let context = unsafe { &*context };
    let error = execute(context);
    context.errno.store(error.raw_os_error().unwrap_or(libc::EIO), Ordering::Relaxed);
    // SAFETY: it ends the child immediately. Neither destructors nor exit handlers of the host run.
    unsafe { libc::_exit(127) }
}

/// Returns only if it fails.
fn execute(context: &ChildContext<'_>) -> io::Error {
    if let Err(error) = prepare(context) {
        return error;
    }
    // SAFETY: the path and all strings end with a NUL, both lists end with a null pointer, and `context` borrows all of
    // them.
    unsafe {
        libc::execve(context.spec.program.as_ptr(), context.arguments.as_ptr(), context.environment.as_ptr());
    }
    // This is the `errno` of the thread that created us. It does not read it before it makes another call.
    io::Error::last_os_error()
}

/// In the same order as the standard library.
fn prepare(context: &ChildContext<'_>) -> io::Result<()> {
    let [stdin, stdout, stderr] = context.spec.stdio;
    dup2_stdin(stdin)?;
    dup2_stdout(stdout)?;
    dup2_stderr(stderr)?;
    chdir(&context.spec.workspace)?;
    // Rust programs ignore SIGPIPE, and an ignored signal stays ignored after exec.
    // SAFETY: it sets no handler, and the child has separate signal actions.
    if unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) } == libc::SIG_ERR {
        return Err(io::Error::last_os_error());
    }
    setsid()?;
    context.spec.setup.apply()?;
    set_blocked_signals(context.signals)?;
    Ok(())
}

/// Sets the signal mask of this thread and returns the previous one. Uses the system call, because the C library removes
/// two signals that it uses itself from every mask.
fn set_blocked_signals(signals: u64) -> io::Result<u64> {
    let mut before = 0_u64;
    // SAFETY: both masks have the size that is passed. The call affects only the calling thread.
    let result = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const signals,
            &raw mut before,
            size_of::<u64>(),
        )
    };
    if result == 0 { Ok(before) } else { Err(io::Error::last_os_error()) }
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

/// The stack size of the child. It needs some hundred bytes, unoptimised some thousand.
const STACK: usize = 64 << 10;
/// The inaccessible memory below the stack: a whole number of pages for every page size in use.
const GUARD: usize = 64 << 10;

/// The child's stack, with inaccessible memory below it.
struct Stack {
    base: *mut c_void,
    usable: *mut c_void,
}

thread_local! {
    /// The stack of the last child. One thread creates them all, and each has stopped using it when the next is created.
    static LAST: Cell<Option<Stack>> = const { Cell::new(None) };
}

impl Stack {
    /// The stack of the last child, or a new one.
    fn take() -> io::Result<Self> {
        LAST.take().map_or_else(Self::new, Ok)
    }

    /// Keeps it for the next child. Unmapping it would interrupt all threads of the host.
    fn keep(self) {
        LAST.set(Some(self));
    }

    fn new() -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        // SAFETY: a new mapping at an address that the kernel chooses replaces no other mapping.
        let base = unsafe { libc::mmap(ptr::null_mut(), GUARD + STACK, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping has that many bytes.
        let usable = unsafe { base.byte_add(GUARD) };
        let stack = Self { base, usable };
        // SAFETY: the upper part of the mapping, which nothing else uses.
        if unsafe { libc::mprotect(usable, STACK, libc::PROT_READ | libc::PROT_WRITE) } == 0 {
            Ok(stack)
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped, and no child uses it any longer: see `clone`.
        unsafe { libc::munmap(self.base, GUARD + STACK) };
    }
}

// Defined here because the C library headers declare the last two as `int`, which is too small for them.
const CLONE_VM: u64 = 0x100;
const CLONE_PIDFD: u64 = 0x1000;
const CLONE_VFORK: u64 = 0x4000;
/// Available since Linux 5.5.
const CLONE_CLEAR_SIGHAND: u64 = 1 << 32;
/// Available since Linux 5.7.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// `struct clone_args` of clone(2).
#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

type ChildFn<'a> = unsafe extern "C" fn(*const ChildContext<'a>) -> !;

/// Returns the process id of the child, or a negative error number. The child never returns from `child`: it must not
/// return into stack frames that the parent thread still uses. That is why this does not call `libc::syscall`.
///
/// # Safety
///
/// As for clone(2): the child must get a separate stack and must not otherwise damage the memory of this thread, and the
/// pointers in `args` must be valid for what the kernel stores. It must be sound to run `child` with `context` on that
/// stack.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
unsafe fn clone3<'a>(args: &CloneArgs, child: ChildFn<'a>, context: *const ChildContext<'a>) -> i64 {
    let mut result = libc::SYS_clone3;
    // SAFETY: the kernel changes only rax, rcx and r11. If rax is 0, this is the child: all other registers have the same
    // values as here, except that rsp is at the end of its own stack, aligned to 16 bytes as a call requires. The child
    // never returns from the call. rbp is 0 so that debuggers see the end of the stack.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "ud2",
            "2:",
            inlateout("rax") result,
            in("rdi") ptr::from_ref(args),
            in("rsi") size_of::<CloneArgs>(),
            in("r12") context,
            in("r13") child,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    result
}

/// The same for aarch64.
///
/// # Safety
///
/// The same as for `x86_64`.
#[cfg(all(target_arch = "aarch64", target_pointer_width = "64"))]
unsafe fn clone3<'a>(args: &CloneArgs, child: ChildFn<'a>, context: *const ChildContext<'a>) -> i64 {
    let result: i64;
    // SAFETY: the kernel changes only x0. If it is 0, this is the child: all other registers have the same values as
    // here, except that sp is at the end of its own stack, aligned to 16 bytes. The child never returns from the call.
    // x29 and x30 are 0 so that debuggers see the end of the stack.
    unsafe {
        std::arch::asm!(
            "svc #0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x30, xzr",
            "mov x0, x20",
            "blr x21",
            "brk #1",
            "2:",
            in("x8") libc::SYS_clone3,
            inlateout("x0") ptr::from_ref(args) => result,
            in("x1") size_of::<CloneArgs>(),
            in("x20") context,
            in("x21") child,
        );
    }
    result
}

/// Unsupported on other architectures: agents are forked there.
///
/// # Safety
///
/// Always safe: it does nothing.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_pointer_width = "64")))]
unsafe fn clone3<'a>(_args: &CloneArgs, _child: ChildFn<'a>, _context: *const ChildContext<'a>) -> i64 {
    -i64::from(libc::ENOSYS)
}

/// Closes the standard descriptors of this process, so that the next ones opened get their numbers.
#[cfg(test)]
pub(crate) fn close_stdio() {
    // SAFETY: neither std nor the test harness owns these descriptors. Printing to them returns an error.
    drop(unsafe { [rustix::stdio::take_stdin(), rustix::stdio::take_stdout(), rustix::stdio::take_stderr()] });
}
