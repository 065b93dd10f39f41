import { byteas, days, int2s, int4s, int8s, labels, texts, timestamps, uuids } from './bind.ts'

/** One column of rows that are handed to a statement as parallel arrays. */
export interface Column<Row> {
  readonly name: string
  readonly type: string
  readonly bind: (rows: readonly Row[]) => unknown
}

const columnOf =
  <Row, Value>(type: string, bind: (values: readonly (Value | null)[]) => unknown) =>
  (name: string, pick: (row: Row) => Value | null): Column<Row> => ({
    name,
    type,
    bind: (rows) => bind(rows.map(pick)),
  })

const columnsOf = <Row>() => ({
  text: columnOf<Row, string>('text', texts),
  int4: columnOf<Row, number>('int4', int4s),
  int8: columnOf<Row, number>('int8', int8s),
  /** Milliseconds since 1970. */
  timestamp: columnOf<Row, number>('timestamptz', timestamps),
  /** Milliseconds since 1970; the UTC day. */
  day: columnOf<Row, number>('date', days),
  uuid: columnOf<Row, string>('uuid', uuids),
  bytea: columnOf<Row, Buffer>('bytea', byteas),
  /** A label of the enum `type`. */
  label: (type: string, name: string, pick: (row: Row) => string | null) =>
    columnOf<Row, string>(type, labels)(name, pick),
})
export type Columns<Row> = ReturnType<typeof columnsOf<Row>>

/**
 * Builds a statement's text and its parameters from one list, so that the two cannot drift apart. Used once, when the
 * module is loaded.
 */
export interface Binder<Input> {
  /** SQL of rows: `unnest($3::text[], …) with ordinality as alias (column, …, ord)`. */
  readonly rows: <Row>(
    alias: string,
    pick: (input: Input) => readonly Row[],
    columns: (is: Columns<Row>) => readonly Column<Row>[],
  ) => string
  /** SQL of one value. */
  readonly int2: (pick: (input: Input) => number) => string
  readonly int8: (pick: (input: Input) => number) => string
  readonly text: (pick: (input: Input) => string) => string
  /** Milliseconds since 1970; the UTC day. */
  readonly day: (pick: (input: Input) => number) => string
  /** SQL of an array. */
  readonly int8Array: (pick: (input: Input) => readonly number[]) => string
  readonly values: (input: Input) => unknown[]
}

export function createBinder<Input>(): Binder<Input> {
  const parameters: ((input: Input) => unknown)[] = []
  const add = (type: string, value: (input: Input) => unknown) => `$${parameters.push(value)}::${type}`
  return {
    rows: <Row>(
      alias: string,
      pick: (input: Input) => readonly Row[],
      choose: (is: Columns<Row>) => readonly Column<Row>[],
    ) => {
      const columns = choose(columnsOf<Row>())
      const arrays = columns.map(({ type, bind }) => add(`${type}[]`, (input) => bind(pick(input))))
      return `unnest(${arrays.join(', ')}) with ordinality as ${alias} (${columns.map(({ name }) => name).join(', ')}, ord)`
    },
    int2: (pick) => `(${add('int2[]', (input) => int2s([pick(input)]))})[1]`,
    int8: (pick) => `(${add('int8[]', (input) => int8s([pick(input)]))})[1]`,
    text: (pick) => add('text', pick),
    day: (pick) => `(${add('date[]', (input) => days([pick(input)]))})[1]`,
    int8Array: (pick) => add('int8[]', (input) => int8s(pick(input))),
    values: (input) => parameters.map((parameter) => parameter(input)),
  }
}
