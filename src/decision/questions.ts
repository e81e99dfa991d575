/** Claude's AskUserQuestion input (captured on 2.1.268), read for the prompt and for judging the answer. */

export interface AskedQuestion {
  question: string;
  header?: string;
  options: { label: string; description?: string }[];
  multiSelect: boolean;
}

/** Claude asks at most four at once; more than this is no question that a prompt could show. */
const MAX_QUESTIONS = 16;

/** The questions that can be read; `[]` when there is none, and then no answer is possible. */
export function askedQuestions(input: unknown): AskedQuestion[] {
  const list = fieldOf(input, "questions");
  if (!Array.isArray(list) || list.length > MAX_QUESTIONS) return [];
  return list.flatMap((entry: unknown) => {
    const question = textOf(entry, "question");
    if (question === undefined) return [];
    const header = textOf(entry, "header");
    const options = fieldOf(entry, "options");
    return [
      {
        question,
        ...(header === undefined ? {} : { header }),
        options: (Array.isArray(options) ? options : []).flatMap((option: unknown) => {
          const label = textOf(option, "label");
          const description = textOf(option, "description");
          return label === undefined ? [] : [{ label, ...(description === undefined ? {} : { description }) }];
        }),
        multiSelect: fieldOf(entry, "multiSelect") === true,
      },
    ];
  });
}

/** An own field of an object from outside. */
export function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

export function textOf(value: unknown, name: string): string | undefined {
  const field = fieldOf(value, name);
  return typeof field === "string" ? field : undefined;
}
