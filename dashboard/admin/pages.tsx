import { useRef } from 'preact/hooks'
import type { AdminPage } from '../../protocol/api/admin/page.schema.ts'
import type { Answer } from '../../protocol/api/operations.schema.ts'
import type { OperationId } from '../../protocol/api/paths.ts'
import { type Action, useAction } from '../api/action.ts'
import { type Resource, useResource } from '../api/resource.ts'
import { Button } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { readAdmin } from './admin-client.ts'

/** The operations that answer with a page of rows. */
export type AdminList = {
  [Id in OperationId]: AdminPage<never> extends Answer<Id> ? Id : never
}[OperationId]

export type RowOf<Id extends AdminList> = Answer<Id>['rows'][number]

interface Pages<Row> extends Resource<AdminPage<Row>> {
  /** Loads the next page. */
  more: Action<[]>
}

/** A list of the administration, page by page: the loaded pages, also after a reload. */
export function useAdminPages<Id extends AdminList>(
  key: string,
  id: Id,
  given: Readonly<Record<string, string | undefined>>,
): Pages<RowOf<Id>> {
  const entries = Object.entries(given).filter(([, value]) => value)
  const read = (cursor?: string) => {
    const query = { ...Object.fromEntries(entries), cursor }
    return readAdmin<AdminList>(id, { query }) as Promise<AdminPage<RowOf<Id>>>
  }
  type Known = AdminPage<RowOf<Id>>
  const append = (known: Known, { rows, nextCursor }: Known) => ({
    rows: [...known.rows, ...rows],
    nextCursor,
  })
  const count = useRef(0)
  const list = useResource(key, async () => {
    let known = await read()
    while (known.nextCursor !== null && known.rows.length < count.current)
      known = append(known, await read(known.nextCursor))
    return known
  })
  count.current = list.value?.rows.length ?? 0
  const isLoading = useRef(false)
  isLoading.current = list.loading
  const more = useAction(async () => {
    const { nextCursor } = list.value!
    const next = await read(nextCursor!)
    // The list may have changed since; one that is being loaded again replaces it.
    if (!isLoading.current) list.set((now) => (now.nextCursor === nextCursor ? append(now, next) : now))
  })
  return { ...list, more }
}

/** The button that loads the next page, while there is one. */
export function MorePages({ value, more }: Pick<Pages<unknown>, 'value' | 'more'>) {
  return (
    <>
      <ErrorNotice error={more.error} />
      {value?.nextCursor && (
        <p>
          <Button busy={more.busy} onClick={more}>
            Show more
          </Button>
        </p>
      )}
    </>
  )
}
