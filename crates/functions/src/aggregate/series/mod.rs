//! Time series: grids, differences, decays, pictures.

pub(super) mod delta_sum;
pub(super) mod largest_triangle;
pub(super) mod moving_average;
pub(super) mod series_masks;
pub(super) mod sparkbar;
pub(super) mod time_decayed;
pub(super) mod time_series;
pub(super) mod time_series_grid;
