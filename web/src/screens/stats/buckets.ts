// Hourly call counts, combined into the bars of the chart.

export interface HourlyCalls {
  at: number;
  calls: number;
  failed: number;
}

export interface Bucket {
  at: number;
  succeeded: number;
  failed: number;
}

const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;
const MIN_DAYS = 7;
const MAX_BARS = 40;
const LAYOUTS: Record<string, [size_s: number, count: number]> = {
  day: [HOUR_S, 24],
  week: [6 * HOUR_S, 28],
  month: [DAY_S, 30],
};

/** Combine hourly counts into buckets of equal size that end now. Times are in seconds. */
export function bucketCalls(hours: HourlyCalls[], period: string, now: number = Date.now() / 1000): Bucket[] {
  const [size, count] = LAYOUTS[period] ?? layoutFor(hours, now);
  const first = (Math.floor(now / size) - (count - 1)) * size;
  const buckets = Array.from({ length: count }, (_, index) => ({ at: first + index * size, succeeded: 0, failed: 0 }));
  for (const hour of hours) {
    const bucket = buckets[Math.floor((hour.at - first) / size)];
    if (!bucket) continue;
    bucket.succeeded += hour.calls - hour.failed;
    bucket.failed += hour.failed;
  }
  return buckets;
}

/** Choose whole days as the bucket size, so that all hours fit into the chart. */
function layoutFor(hours: HourlyCalls[], now: number): [size_s: number, count: number] {
  const oldest = Math.min(now, ...hours.map((hour) => hour.at));
  const days = Math.max(MIN_DAYS, Math.ceil((now - oldest) / DAY_S) + 1);
  const daysPerBucket = Math.ceil(days / MAX_BARS);
  return [daysPerBucket * DAY_S, Math.ceil(days / daysPerBucket) + 1];
}
