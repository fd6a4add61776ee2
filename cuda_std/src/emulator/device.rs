//! The host side of the device functions.

pub use super::atomics::*;
use crate::vector::{U32x2, U32x4};
use crate::warp::ShuffleMode;

/// Device functions have a meaning in a kernel only.
#[cold]
fn outside() -> ! {
    panic!("a device function was called outside of a kernel")
}

pub fn thread_idx_x() -> u32 {
    outside()
}

pub fn thread_idx_y() -> u32 {
    outside()
}

pub fn thread_idx_z() -> u32 {
    outside()
}

pub fn block_idx_x() -> u32 {
    outside()
}

pub fn block_idx_y() -> u32 {
    outside()
}

pub fn block_idx_z() -> u32 {
    outside()
}

pub fn block_dim_x() -> u32 {
    outside()
}

pub fn block_dim_y() -> u32 {
    outside()
}

pub fn block_dim_z() -> u32 {
    outside()
}

pub fn grid_dim_x() -> u32 {
    outside()
}

pub fn grid_dim_y() -> u32 {
    outside()
}

pub fn grid_dim_z() -> u32 {
    outside()
}

pub fn lane_id() -> u32 {
    outside()
}

pub fn activemask() -> u32 {
    outside()
}

pub fn sync_warp(_: u32) {
    outside()
}

pub fn sync_threads() {
    outside()
}

pub fn sync_threads_count(_: bool) -> u32 {
    outside()
}

pub fn sync_threads_and(_: bool) -> bool {
    outside()
}

pub fn sync_threads_or(_: bool) -> bool {
    outside()
}

pub fn device_fence() {
    outside()
}

pub fn block_fence() {
    outside()
}

pub fn nanosleep(_: u32) {
    outside()
}

pub fn spin_wait() {
    outside()
}

pub fn shuffle(_: ShuffleMode, _: u32, _: u32, _: u32, _: u32) -> (u32, bool) {
    outside()
}

pub fn shuffle_wide(_: ShuffleMode, _: u32, _: u64, _: u32, _: u32) -> (u64, bool) {
    outside()
}

pub fn vote_ballot(_: u32, _: bool) -> u32 {
    outside()
}

pub fn vote_any(_: u32, _: bool) -> bool {
    outside()
}

pub fn vote_all(_: u32, _: bool) -> bool {
    outside()
}

pub fn match_any_32(_: u32, _: u32) -> u32 {
    outside()
}

pub fn match_any_64(_: u32, _: u64) -> u32 {
    outside()
}

pub fn shared_base(_: usize) -> *mut u8 {
    outside()
}

pub fn check_shared_index(_: usize, _: usize, _: usize) {
    outside()
}

pub fn reduce_add(_: u32, _: u32) -> u32 {
    outside()
}

pub fn reduce_min(_: u32, _: u32) -> u32 {
    outside()
}

pub fn reduce_max(_: u32, _: u32) -> u32 {
    outside()
}

pub fn reduce_and(_: u32, _: u32) -> u32 {
    outside()
}

pub fn reduce_or(_: u32, _: u32) -> u32 {
    outside()
}

pub fn reduce_xor(_: u32, _: u32) -> u32 {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn shared_read<T>(_: *const T) -> T {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn shared_write<T>(_: *mut T, _: T) {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn shared_read_vec4(_: *const U32x4) -> U32x4 {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn shared_write_vec4(_: *mut U32x4, _: U32x4) {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn shared_read_vec2(_: *const U32x2) -> U32x2 {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn shared_write_vec2(_: *mut U32x2, _: U32x2) {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn shared_fetch_add(_: *mut u32, _: u32) -> u32 {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn shared_fetch_or(_: *mut u32, _: u32) -> u32 {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn shared_fetch_and(_: *mut u32, _: u32) -> u32 {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn shared_fetch_max(_: *mut u32, _: u32) -> u32 {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn shared_fetch_min(_: *mut u32, _: u32) -> u32 {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn load_v4(_: *const U32x4) -> U32x4 {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn load_streaming_v4(_: *const U32x4) -> U32x4 {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn load_nc_u32(_: *const u32) -> u32 {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn store_v4(_: *mut U32x4, _: U32x4) {
    outside()
}

/// # Safety
/// As for the device function.
pub unsafe fn store_streaming_v4(_: *mut U32x4, _: U32x4) {
    outside()
}
