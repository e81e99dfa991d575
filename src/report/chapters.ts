/**
 * The timeline in chapters: each message to Claude begins one. Of a long log the newest ordinary entries stay, and
 * everything that tells (refusals, questions, verifications, ends, troubles) as far as its own bound; the rest is counted.
 */
import type { PromptSource } from "../core/machine/state.ts";
import type { Chapter, EarlierChapters, Entry } from "./model.ts";

const MAX_CHAPTERS = 300;
const MAX_ORDINARY = 4_000;
const MAX_TELLING = 3_000;

export class Chapters {
  #list: Chapter[] = [];
  #earlier: EarlierChapters | null = null;
  #ordinary = 0;
  #telling = 0;

  begin(seq: number, at: string, source: PromptSource | null, text: string): void {
    this.#list.push(emptyChapter(seq, at, source, text));
    // The goal's own chapter stays; it is the second oldest that gives way.
    if (this.#list.length > MAX_CHAPTERS) this.#fold(...this.#list.splice(1, 1));
  }

  /** The chapter that things go into now. */
  now(seq: number, at: string): Chapter {
    const last = this.#list.at(-1);
    if (last !== undefined) return last;
    const first = emptyChapter(seq, at, null, "");
    this.#list.push(first);
    return first;
  }

  add(entry: Entry, ordinary: boolean): void {
    const chapter = this.now(entry.seq, entry.at);
    chapter.endedAt = entry.at;
    if (ordinary) {
      chapter.ordinary.push(entry);
      this.#ordinary += 1;
      if (this.#ordinary > MAX_ORDINARY) this.#dropOldest("ordinary");
    } else {
      chapter.telling.push(entry);
      this.#telling += 1;
      if (this.#telling > MAX_TELLING) this.#dropOldest("telling");
    }
  }

  /** The chapters in order, and the sums of those that were too many. */
  done(): { chapters: Chapter[]; earlier: EarlierChapters | null } {
    return { chapters: this.#list, earlier: this.#earlier };
  }

  #dropOldest(which: "ordinary" | "telling"): void {
    const chapter = this.#list.find((one) => one[which].length > 0);
    const entry = chapter?.[which].shift();
    if (chapter === undefined || entry === undefined) return;
    if (which === "ordinary") this.#ordinary -= 1;
    else this.#telling -= 1;
    if (entry.kind === "call") chapter.dropped.calls += 1;
    else if (entry.kind === "claude") chapter.dropped.texts += 1;
    else chapter.dropped.others += 1;
  }

  #fold(gone?: Chapter): void {
    if (gone === undefined) return;
    this.#ordinary -= gone.ordinary.length;
    this.#telling -= gone.telling.length;
    const before = this.#earlier ?? {
      chapters: 0,
      calls: 0,
      refused: 0,
      entries: 0,
      fromSeq: gone.seq,
      toSeq: gone.seq,
    };
    const { calls, texts, others } = gone.dropped;
    this.#earlier = {
      chapters: before.chapters + 1,
      calls: before.calls + gone.calls,
      refused: before.refused + gone.refused,
      entries: before.entries + gone.ordinary.length + gone.telling.length + calls + texts + others,
      fromSeq: before.fromSeq,
      toSeq: (this.#list[1]?.seq ?? gone.seq + 1) - 1,
    };
  }
}

/** The entries of a chapter in the order of the log. */
export function entriesOf(chapter: Chapter): Entry[] {
  return [...chapter.telling, ...chapter.ordinary].sort((a, b) => a.seq - b.seq);
}

function emptyChapter(seq: number, at: string, source: PromptSource | null, text: string): Chapter {
  return {
    seq,
    at,
    source,
    text,
    telling: [],
    ordinary: [],
    calls: 0,
    refused: 0,
    asked: 0,
    errors: 0,
    dropped: { calls: 0, texts: 0, others: 0 },
    costUsd: null,
    tokens: null,
    endedAt: at,
  };
}
