// As stacks.c, in Rust: closures, sorting, threads, and a panic that unwinds.
use std::hint::black_box;
use std::time::{Duration, Instant};

fn spend() -> Duration {
    Duration::from_millis(std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(60))
}

#[inline(always)]
fn burn(end: Instant) -> u64 {
    let mut sum = 1u64;
    while Instant::now() < end {
        for i in 0..20000u64 {
            sum = black_box(sum.wrapping_mul(31).wrapping_add(i));
        }
        let text = format!("{} {:?}", sum, [sum; 8]);
        sum = sum.wrapping_add(text.len() as u64);
    }
    sum
}

#[no_mangle]
#[inline(never)]
fn work_plain(n: u64) -> u64 {
    burn(Instant::now() + spend()) ^ n
}

#[no_mangle]
#[inline(never)]
fn plain_mid(n: u64) -> u64 {
    let v: Vec<u64> = (0..n).collect();
    black_box(work_plain(v.len() as u64)) ^ v[1]
}

#[no_mangle]
#[inline(never)]
fn plain_top() -> u64 {
    black_box(plain_mid(black_box(17))) ^ 1
}

#[no_mangle]
#[inline(never)]
fn work_sort(end: Instant) -> usize {
    let mut n = 0;
    while Instant::now() < end {
        let mut v: Vec<u64> = (0..4000u64).map(|i| i.wrapping_mul(0x9e3779b97f4a7c15)).collect();
        v.sort_by(|a, b| b.cmp(a));
        n += black_box(v).len();
    }
    n
}

#[no_mangle]
#[inline(never)]
fn sort_top() -> usize {
    black_box(work_sort(Instant::now() + spend())) + 1
}

#[no_mangle]
#[inline(never)]
fn work_closure(f: &dyn Fn(u64) -> u64, end: Instant) -> u64 {
    let mut sum = 0u64;
    while Instant::now() < end {
        for i in 0..1000 {
            sum = sum.wrapping_add(f(i));
        }
    }
    sum
}

#[no_mangle]
#[inline(never)]
fn closure_top() -> u64 {
    let k = black_box(3);
    black_box(work_closure(&|i| black_box(i * k), Instant::now() + spend())) ^ 1
}

#[no_mangle]
#[inline(never)]
fn work_thread() -> u64 {
    burn(Instant::now() + spend())
}

#[no_mangle]
#[inline(never)]
fn thread_body() -> u64 {
    black_box(work_thread()) ^ 1
}

#[no_mangle]
#[inline(never)]
fn work_panic(n: u64) -> u64 {
    if black_box(n) > 0 {
        panic!("on purpose");
    }
    n
}

#[no_mangle]
#[inline(never)]
fn panic_mid(n: u64) -> u64 {
    let text = String::from("kept until here");
    black_box(work_panic(n)) + text.len() as u64
}

#[no_mangle]
#[inline(never)]
fn panic_top(end: Instant) -> u64 {
    let mut n = 0;
    std::panic::set_hook(Box::new(|_| {}));
    while Instant::now() < end {
        n += std::panic::catch_unwind(|| panic_mid(1)).is_err() as u64;
    }
    n
}

fn main() {
    let mut sum = plain_top();
    sum ^= sort_top() as u64;
    sum ^= closure_top();
    sum ^= std::thread::spawn(thread_body).join().unwrap();
    sum ^= panic_top(Instant::now() + spend());
    std::process::exit((sum == 42) as i32);
}
