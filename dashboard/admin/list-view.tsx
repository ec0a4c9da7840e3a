import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { ListOrder } from '../../protocol/api/admin/lists.ts'
import { useDebounced } from '../app/use-debounced.ts'
import { Choice, TextField } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Empty } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { type AdminList, MorePages, type RowOf, useAdminPages } from './pages.tsx'
import { type Column, RecordTable } from './record-table.tsx'
import { type RowAction, RowMenu } from './row-menu.tsx'

const ORDERS: { value: ListOrder; name: string }[] = [
  { value: 'age', name: 'Newest' },
  { value: 'bytes', name: 'Largest' },
  { value: 'visits', name: 'Most visited' },
]

interface ListViewProps<Row> {
  /** What it lists. */
  what: string
  columns: readonly Column<Row>[]
  /** What identifies a row, for people and among all rows. */
  nameOf: (row: Row) => string
  /** What a search compares, such as "Email address"; without it there is no search. */
  search?: string
  /** The parameter of the search; by default `q`. */
  searchField?: string
  isSorted?: boolean
  actions?: readonly RowAction<Row>[]
}

/** A list of everything of a kind, with search, order and pages. */
export function ListView<Id extends AdminList>({
  list,
  searchField = 'q',
  ...props
}: ListViewProps<RowOf<Id>> & { list: Id }) {
  const { what, search, isSorted } = props
  const { query } = useLocation()
  const [typed, type] = useState(query.q ?? '')
  useEffect(() => type(query.q ?? ''), [query.q])
  const [sort, choose] = useState<ListOrder>('age')
  const q = useDebounced(typed.trim())
  const selected = { [searchField]: q, sort: isSorted ? sort : undefined }
  const { value, error, reload, refresh, more } = useAdminPages(`admin/${what}/${sort}/${q}`, list, selected)
  return (
    <div class="stack">
      <div class={isSorted ? 'list-tools' : undefined}>
        {search && (
          <TextField label="Search" type="search" placeholder={search} value={typed} onWrite={type} />
        )}
        {isSorted && (
          <Choice
            label="Sort by"
            value={sort}
            choices={ORDERS}
            onChoose={(value) => choose(value as ListOrder)}
          />
        )}
      </div>
      <ErrorNotice error={error} onRetry={reload} />
      {!value && !error && <Loading what={what} />}
      {value && <Rows {...props} rows={value.rows} q={q} onChanged={refresh} />}
      <MorePages value={value} more={more} />
    </div>
  )
}

interface RowsProps<Row> extends Pick<ListViewProps<Row>, 'what' | 'columns' | 'nameOf' | 'actions'> {
  rows: readonly Row[]
  /** What was searched. */
  q: string
  onChanged: () => Promise<void>
}

function Rows<Row>({ what, columns, nameOf, actions, rows, q, onChanged }: RowsProps<Row>) {
  if (rows.length === 0) return <Empty title={q === '' ? 'Nothing here yet' : `Nothing found for "${q}"`} />
  const menu = (row: Row) => <RowMenu row={row} name={nameOf(row)} actions={actions!} onChanged={onChanged} />
  return <RecordTable label={what} columns={columns} rows={rows} keyOf={nameOf} menu={actions && menu} />
}
