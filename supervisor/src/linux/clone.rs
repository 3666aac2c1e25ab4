//! A child made with `clone3`, as glibc's `posix_spawn` and Go make theirs.
//!
//! It borrows our memory until it executes its program, so that none of it is copied, and it is born into its cgroup:
//! a process that moves there by itself waits 6 to 17 ms for the kernel. The standard library offers neither.
//!
//! Until then the child runs code of ours, in our memory, on a stack of its own, while the thread that made it stands
//! still. So it makes system calls on what was made ready before, and does nothing else: it never allocates, locks,
//! panics or returns.

#![expect(unsafe_code, reason = "there is no safe way to clone3, nor to run a child that shares our memory")]

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

use super::Door;

/// What the child does and becomes.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// Its path.
    pub(super) program: CString,
    /// With the program's name as the first.
    pub(super) arguments: Vec<CString>,
    /// As `NAME=value`.
    pub(super) environment: Vec<CString>,
    pub(super) workspace: CString,
    /// What becomes its descriptors 0, 1 and 2. None of them has such a number here, or one would be lost before it is
    /// put in its place, or stay closed on exec in it.
    pub(super) stdio: [BorrowedFd<'a>; 3],
    pub(super) door: Door,
    /// The folder of the cgroup that it is born into.
    pub(super) cgroup: Option<BorrowedFd<'a>>,
}

/// Why there is no child.
#[derive(Debug)]
pub(super) enum Failure {
    /// None was made. Why does not matter: there is another way, which says so if it fails as well.
    Clone,
    /// It was made, but could not become what it should, and is gone.
    Exec(io::Error),
}

/// Starts the child, and gives its number and a descriptor of it. Its exit is the caller's to wait for.
pub(super) fn clone(plan: &Plan<'_>) -> Result<(u32, OwnedFd), Failure> {
    let arguments = pointers(&plan.arguments);
    let environment = pointers(&plan.environment);
    let stack = Stack::take().map_err(|_| Failure::Clone)?;
    let mut descriptor: RawFd = -1;
    let mut request = Request {
        flags: CLONE_VM | CLONE_VFORK | CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
        descriptor: (&raw mut descriptor).expose_provenance() as u64,
        exit_signal: u64::from(libc::SIGCHLD.unsigned_abs()),
        stack: stack.usable.expose_provenance() as u64,
        stack_size: STACK as u64,
        ..Request::default()
    };
    if let Some(cgroup) = plan.cgroup {
        request.flags |= CLONE_INTO_CGROUP;
        request.cgroup = u64::from(cgroup.as_raw_fd().unsigned_abs());
    }
    // The child inherits the mask. Ctrl-Z, which is for our process group, could otherwise stop it before it has left
    // that group, and this thread would wait for it.
    let signals = set_blocked_signals(!0).map_err(|_| Failure::Clone)?;
    let stage = Stage { plan, arguments: &arguments, environment: &environment, signals, errno: AtomicI32::new(0) };
    // SAFETY: what the request points to outlives the call: `descriptor` is an i32 of ours that nothing else refers to,
    // and the stack is mapped, of that size, aligned, and used by nobody. CLONE_VFORK holds this thread in the call
    // until the child has executed its program or ended, so `stack`, `stage` and what they borrow outlive the child's
    // use of them. It changes nothing of ours but `errno` there, which is atomic, and this thread's `errno` of the C
    // library, whose thread-local memory it shares. The child has descriptors, a folder and signal actions of its own,
    // because CLONE_FILES, CLONE_FS and CLONE_SIGHAND are not given, and no handlers that could run in our memory.
    let answer = unsafe { clone3(&request, run_child, &raw const stage) };
    // It was this thread's mask before, so it can be again.
    set_blocked_signals(signals).ok();
    stack.keep();
    // Errors are negative.
    let id = u32::try_from(answer).map_err(|_| Failure::Clone)?;
    // SAFETY: a `clone3` with CLONE_PIDFD that succeeds has stored a descriptor that is new, open, and ours alone.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    match stage.errno.into_inner() {
        0 => Ok((id, descriptor)),
        errno => {
            // It is ending. An error means that somebody else here waits for all children.
            retry_on_intr(|| waitid(WaitId::PidFd(descriptor.as_fd()), WaitIdOptions::EXITED)).ok();
            Err(Failure::Exec(io::Error::from_raw_os_error(errno)))
        }
    }
}

/// Makes the end of a child, whose descriptor this is, known to the runtime that this is called in.
pub(super) fn watch(child: Arc<OwnedFd>) -> Result<AsyncFd<Arc<OwnedFd>>, AsyncFdRegisterError<Arc<OwnedFd>>> {
    // SAFETY: an `OwnedFd` is open and stays the same for as long as it lives, which the `Arc` sees to.
    unsafe { AsyncFd::register_with_interest(child, Interest::READABLE) }
}

/// What the child finds in our memory.
struct Stage<'a> {
    plan: &'a Plan<'a>,
    /// Ends with a null, as does the environment.
    arguments: &'a [*const c_char],
    environment: &'a [*const c_char],
    /// The mask that the child is to have: ours. The standard library hands it on as well.
    signals: u64,
    /// Why it did not become its program.
    errno: AtomicI32,
}

/// The child's life before its program.
///
/// # Safety
///
/// For a child of [`clone3`] only, which must have been given a `stage` that is valid until the child has ended.
unsafe extern "C" fn run_child(stage: *const Stage<'_>) -> ! {
    // SAFETY: the caller's promise.
    let stage = unsafe { &*stage };
    let error = become_program(stage);
    stage.errno.store(error.raw_os_error().unwrap_or(libc::EIO), Ordering::Relaxed);
    // SAFETY: it ends the child at once. No destructors run, nor what the host does at its exit.
    unsafe { libc::_exit(127) }
}

/// Returns only if it fails.
fn become_program(stage: &Stage<'_>) -> io::Error {
    if let Err(error) = prepare(stage) {
        return error;
    }
    // SAFETY: the path and all strings end with a NUL, both lists with a null, and all are borrowed by the stage.
    unsafe {
        libc::execve(stage.plan.program.as_ptr(), stage.arguments.as_ptr(), stage.environment.as_ptr());
    }
    // This `errno` is that of the thread that made us, which does not look at it before it makes another call.
    io::Error::last_os_error()
}

/// In the order in which the standard library does it.
fn prepare(stage: &Stage<'_>) -> io::Result<()> {
    let [stdin, stdout, stderr] = stage.plan.stdio;
    dup2_stdin(stdin)?;
    dup2_stdout(stdout)?;
    dup2_stderr(stderr)?;
    chdir(&stage.plan.workspace)?;
    // Rust programs ignore SIGPIPE, and what is ignored stays so over an exec.
    // SAFETY: it sets no handler, and the child has signal actions of its own.
    if unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) } == libc::SIG_ERR {
        return Err(io::Error::last_os_error());
    }
    setsid()?;
    stage.plan.door.enter()?;
    set_blocked_signals(stage.signals)?;
    Ok(())
}

/// Sets which signals this thread does not take now, and gives which they were. By the system call itself, because the
/// C library keeps two signals of its own out of every mask.
fn set_blocked_signals(signals: u64) -> io::Result<u64> {
    let mut before = 0_u64;
    // SAFETY: both masks are as long as the call is told. A mask concerns the calling thread alone.
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

/// What the child may use of its stack; it needs some hundred bytes, unoptimised some thousand.
const STACK: usize = 64 << 10;
/// What it may not: a whole number of pages, however large they are here.
const GUARD: usize = 64 << 10;

/// The child's stack. Below it is memory that nobody may touch.
struct Stack {
    base: *mut c_void,
    usable: *mut c_void,
}

thread_local! {
    /// That of the last child: one thread makes them all, and none of them uses it any more when the next is made.
    static LAST: Cell<Option<Stack>> = const { Cell::new(None) };
}

impl Stack {
    /// The last child's, or a new one.
    fn take() -> io::Result<Self> {
        LAST.take().map_or_else(Self::new, Ok)
    }

    /// For the next child: unmapping it would interrupt all threads of the host.
    fn keep(self) {
        LAST.set(Some(self));
    }

    fn new() -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        // SAFETY: a new mapping, where the kernel has room: it takes nobody's place.
        let base = unsafe { libc::mmap(ptr::null_mut(), GUARD + STACK, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping has that many bytes.
        let usable = unsafe { base.byte_add(GUARD) };
        let stack = Self { base, usable };
        // SAFETY: the upper part of the mapping, which is ours alone.
        if unsafe { libc::mprotect(usable, STACK, libc::PROT_READ | libc::PROT_WRITE) } == 0 {
            Ok(stack)
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped, and no child uses it any more: see `clone`.
        unsafe { libc::munmap(self.base, GUARD + STACK) };
    }
}

// The C library's headers give the last two as an `int`, which they do not fit into.
const CLONE_VM: u64 = 0x100;
const CLONE_PIDFD: u64 = 0x1000;
const CLONE_VFORK: u64 = 0x4000;
/// Since Linux 5.5.
const CLONE_CLEAR_SIGHAND: u64 = 1 << 32;
/// Since Linux 5.7.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// `struct clone_args` of clone(2).
#[repr(C)]
#[derive(Default)]
struct Request {
    flags: u64,
    descriptor: u64,
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

type Child<'a> = unsafe extern "C" fn(*const Stage<'a>) -> !;

/// Gives the child's number, or an error's, negative. The child never comes back from `child`: it must not return into
/// the frames of a thread that goes on with them, which is why this is no call of `libc::syscall`.
///
/// # Safety
///
/// As for clone(2): the request must be one that leaves this thread its memory, its stack first of all, and has room for
/// what the kernel stores. `child` must be fit to run on the request's stack with `stage`.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
unsafe fn clone3<'a>(request: &Request, child: Child<'a>, stage: *const Stage<'a>) -> i64 {
    let mut answer = libc::SYS_clone3;
    // SAFETY: the kernel changes rax, rcx and r11 alone. Where rax is 0 it is the child, with all other registers as
    // they are here and rsp at the end of its own stack, 16-aligned as a call wants it; it does not leave the call.
    // rbp says to who looks at the stack that it ends there.
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
            inlateout("rax") answer,
            in("rdi") ptr::from_ref(request),
            in("rsi") size_of::<Request>(),
            in("r12") stage,
            in("r13") child,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    answer
}

/// As above.
///
/// # Safety
///
/// As above.
#[cfg(all(target_arch = "aarch64", target_pointer_width = "64"))]
unsafe fn clone3<'a>(request: &Request, child: Child<'a>, stage: *const Stage<'a>) -> i64 {
    let answer: i64;
    // SAFETY: the kernel changes x0 alone. Where it is 0 it is the child, with all other registers as they are here and
    // sp at the end of its own stack, 16-aligned; it does not leave the call. x29 and x30 say to who looks at the stack
    // that it ends there.
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
            inlateout("x0") ptr::from_ref(request) => answer,
            in("x1") size_of::<Request>(),
            in("x20") stage,
            in("x21") child,
        );
    }
    answer
}

/// Elsewhere agents are forked.
///
/// # Safety
///
/// Nothing is done.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_pointer_width = "64")))]
unsafe fn clone3<'a>(_request: &Request, _child: Child<'a>, _stage: *const Stage<'a>) -> i64 {
    -i64::from(libc::ENOSYS)
}

/// Closes the host's own standard descriptors, so that the next ones opened get their numbers.
#[cfg(test)]
pub(in super::super) fn close_stdio() {
    // SAFETY: nothing of std or the test harness owns these numbers; what prints to them is told of an error.
    drop(unsafe { [rustix::stdio::take_stdin(), rustix::stdio::take_stdout(), rustix::stdio::take_stderr()] });
}
