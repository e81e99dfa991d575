/** Stretches that are known to be replaced before the scanner gets there: literal values, secrets in encoded stretches. */
import type { Occurrence } from "./known.ts";
import { marker } from "./marker.ts";

export interface PlannedStretch {
  start: number;
  end: number;
  /** Of a literal value; else `marker` is set. */
  value?: string;
  marker?: string;
}

export class Planned {
  private readonly salt: string;
  private stretches: PlannedStretch[] = [];
  private next = 0;

  constructor(salt: string) {
    this.salt = salt;
  }

  /** Keeps what is planned from encoded stretches and takes the literal values found anew. */
  reload(occurrences: readonly Occurrence[]): void {
    const kept = this.stretches.slice(this.next).filter((each) => each.value === undefined);
    this.stretches = occurrences.map((each) => ({ ...each }));
    this.next = 0;
    for (const each of kept) this.add(each);
  }

  add(stretch: PlannedStretch): void {
    let index = this.next;
    while ((this.stretches[index]?.end ?? Number.POSITIVE_INFINITY) <= stretch.start) index++;
    const other = this.stretches[index];
    if (!other || other.start >= stretch.end) {
      this.stretches.splice(index, 0, stretch);
      return;
    }
    // overlapping: one stretch over both; it may now reach the one after it
    this.stretches.splice(index, 1);
    this.add({ ...other, start: Math.min(other.start, stretch.start), end: Math.max(other.end, stretch.end) });
  }

  shift(count: number): void {
    for (const each of this.stretches) {
      each.start -= count;
      each.end -= count;
    }
  }

  /** Where the next one begins; infinite when there is none. */
  get start(): number {
    return this.stretches[this.next]?.start ?? Number.POSITIVE_INFINITY;
  }

  take(): PlannedStretch | undefined {
    return this.stretches[this.next++];
  }

  /** Whatever begins before `index` is passed; where the last of it ends, at least `index`. */
  pass(index: number): number {
    let to = index;
    while (this.start < to) to = Math.max(to, this.take()?.end ?? to);
    return to;
  }

  markerOf(stretch: PlannedStretch): string {
    return stretch.marker ?? marker(this.salt, "known", stretch.value ?? "");
  }

  /** First index that must stay unread because a stretch goes on after `limit`. */
  cut(limit: number): number {
    const cut = this.stretches.find((each) => each.start < limit && each.end > limit);
    return cut?.start ?? limit;
  }
}
