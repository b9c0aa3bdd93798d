// Calls by the hour, put together into as many bars as can be told apart.

export interface Hour {
  at: number;
  calls: number;
  failed: number;
}

export interface Span {
  at: number;
  ok: number;
  failed: number;
}

const HOUR = 3_600;
const DAY = 24 * HOUR;
const LENGTHS: Record<string, [step: number, number: number]> = { day: [HOUR, 24], week: [6 * HOUR, 28], month: [DAY, 30] };

/** Bars of equal length up to now, those without calls too. */
export function spansOf(hours: Hour[], period: string, now: number = Date.now() / 1000): Span[] {
  const [step, number] = LENGTHS[period] ?? lengthOf(hours, now);
  const last = Math.floor(now / step) * step;
  const spans = Array.from({ length: number }, (_, at) => ({ at: last - (number - 1 - at) * step, ok: 0, failed: 0 }));
  for (const hour of hours) {
    const span = spans[Math.floor((hour.at - spans[0]!.at) / step)];
    if (!span) continue;
    span.ok += hour.calls - hour.failed;
    span.failed += hour.failed;
  }
  return spans;
}

function lengthOf(hours: Hour[], now: number): [number, number] {
  const days = Math.max(7, Math.ceil((now - Math.min(now, ...hours.map((hour) => hour.at))) / DAY) + 1);
  const step = Math.ceil(days / 40);
  return [step * DAY, Math.ceil(days / step) + 1];
}
