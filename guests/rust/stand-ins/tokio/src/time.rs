//! tokio's functions of time on delays of the host.

use kubereel_abi::Timer;
use std::future::{poll_fn, Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::ops::{Add, AddAssign, Sub, SubAssign};
pub use std::time::Duration;

/// A moment of the module's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(std::time::Instant);

impl Instant {
    pub fn now() -> Self {
        Instant(std::time::Instant::now())
    }

    pub fn from_std(moment: std::time::Instant) -> Self {
        Instant(moment)
    }

    pub fn into_std(self) -> std::time::Instant {
        self.0
    }

    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.0.duration_since(earlier.0)
    }

    pub fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        self.0.checked_add(duration).map(Instant)
    }

    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        self.0.checked_sub(duration).map(Instant)
    }
}

impl From<std::time::Instant> for Instant {
    fn from(moment: std::time::Instant) -> Self {
        Instant(moment)
    }
}

impl From<Instant> for std::time::Instant {
    fn from(moment: Instant) -> Self {
        moment.0
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Instant(self.0 + duration)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        self.0 += duration
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.0 - earlier.0
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Instant(self.0 - duration)
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        self.0 -= duration
    }
}

/// Some 30 years, for what is too far away to be counted.
const FAR: Duration = Duration::from_secs(1_000_000_000);

fn after(duration: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(duration).unwrap_or(now + FAR)
}

#[derive(Debug)]
pub struct Sleep(Timer);

pub fn sleep(duration: Duration) -> Sleep {
    sleep_until(after(duration))
}

pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep(Timer::new(deadline.0))
}

impl Sleep {
    pub fn deadline(&self) -> Instant {
        Instant(self.0.deadline())
    }

    pub fn is_elapsed(&self) -> bool {
        Instant::now() >= self.deadline()
    }

    pub fn reset(mut self: Pin<&mut Self>, deadline: Instant) {
        self.0.reset(deadline.0)
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll_elapsed(context)
    }
}

pin_project_lite::pin_project! {
    #[derive(Debug)]
    pub struct Timeout<Inner> {
        #[pin]
        inner: Inner,
        timer: Timer,
    }
}

pub fn timeout<Inner: IntoFuture>(duration: Duration, inner: Inner) -> Timeout<Inner::IntoFuture> {
    timeout_at(after(duration), inner)
}

pub fn timeout_at<Inner: IntoFuture>(deadline: Instant, inner: Inner) -> Timeout<Inner::IntoFuture> {
    Timeout { inner: inner.into_future(), timer: Timer::new(deadline.0) }
}

impl<Inner: Future> Future for Timeout<Inner> {
    type Output = Result<Inner::Output, error::Elapsed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(value) = this.inner.poll(context) {
            return Poll::Ready(Ok(value));
        }
        this.timer.poll_elapsed(context).map(|()| Err(error::Elapsed(())))
    }
}

/// Ticks at once and then after each period; where a tick came late, the next one comes a period after it.
#[derive(Debug)]
pub struct Interval {
    timer: Timer,
    period: Duration,
}

pub fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

pub fn interval_at(start: Instant, period: Duration) -> Interval {
    Interval { timer: Timer::new(start.0), period }
}

impl Interval {
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|context| self.poll_tick(context)).await
    }

    pub fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<Instant> {
        self.timer.poll_elapsed(context).map(|()| {
            let due = Instant(self.timer.deadline());
            self.reset();
            due
        })
    }

    pub fn reset(&mut self) {
        self.timer.reset(after(self.period).0)
    }

    pub fn period(&self) -> Duration {
        self.period
    }
}

pub mod error {
    /// The time of a `timeout` was over first.
    #[derive(Debug, PartialEq, Eq)]
    pub struct Elapsed(pub(crate) ());

    impl std::fmt::Display for Elapsed {
        fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("deadline has elapsed")
        }
    }

    impl std::error::Error for Elapsed {}

    impl From<Elapsed> for std::io::Error {
        fn from(elapsed: Elapsed) -> Self {
            std::io::Error::new(std::io::ErrorKind::TimedOut, elapsed)
        }
    }
}
