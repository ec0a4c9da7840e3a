import type { ComponentChildren } from 'preact'

export interface Column<Row> {
  name: string
  show: (row: Row) => ComponentChildren
  /** Whether its values are numbers, which are aligned at their ends. */
  isNumber?: true
}

interface RecordTableProps<Row> {
  /** What the table lists, for assistive technology. */
  label: string
  /** The first column identifies a row. */
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** The menu of a row. */
  menu?: ((row: Row) => ComponentChildren) | undefined
}

/** A table whose rows become cards on narrow screens. */
export function RecordTable<Row>({ label, columns, rows, keyOf, menu }: RecordTableProps<Row>) {
  const [first, ...others] = columns
  return (
    <table class="records" aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ name, isNumber }) => (
            <th key={name} scope="col" class={isNumber && 'number'}>
              {name}
            </th>
          ))}
          {menu && (
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            <th scope="row">{first!.show(row)}</th>
            {others.map(({ name, show, isNumber }) => (
              <td key={name} data-label={name} class={isNumber && 'number'}>
                {show(row)}
              </td>
            ))}
            {menu && <td class="record-menu">{menu(row)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
