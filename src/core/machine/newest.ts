/**
 * The newest entries of a record whose keys are ids that never come again. Written entry by entry into an ordinary
 * object, each new id would make V8 a hidden class of its own, and a full record a hundred of them at every step (140
 * microseconds and most of the garbage of an answer, Node 20). An object that begins without a prototype is a hash table
 * from the start, and stays one.
 */
export function withNewest<V>(
  record: Readonly<Record<string, V>>,
  key: string,
  value: V,
  most: number,
): Record<string, V> {
  const table: Record<string, V> = Object.create(null);
  const keys = Object.keys(record);
  for (const known of keys.slice(-(most - 1))) table[known] = record[known] as V;
  table[key] = value;
  return Object.setPrototypeOf(table, Object.prototype);
}
