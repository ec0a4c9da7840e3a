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

/** A list of the administration, page by page. */
export function useAdminPages<Id extends AdminList>(
  key: string,
  id: Id,
  given: Readonly<Record<string, string | undefined>>,
): Pages<RowOf<Id>> {
  const entries = Object.entries(given).filter(([, value]) => value)
  const read = (page: { cursor?: string | undefined }) => {
    const query = { ...Object.fromEntries(entries), ...page }
    return readAdmin<AdminList>(id, { query }) as Promise<AdminPage<RowOf<Id>>>
  }
  const list = useResource(key, () => read({}))
  const more = useAction(async () => {
    const cursor = list.value?.nextCursor ?? undefined
    const next = await read({ cursor })
    list.set((known) => ({ rows: [...known.rows, ...next.rows], nextCursor: next.nextCursor }))
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
