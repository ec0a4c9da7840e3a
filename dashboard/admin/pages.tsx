import type { AdminPage } from '../../protocol/api/admin/page.schema.ts'
import { type Action, useAction } from '../api/action.ts'
import { type Resource, useResource } from '../api/resource.ts'
import { Button } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { readAdmin } from './admin-client.ts'

interface Pages<Row> extends Resource<AdminPage<Row>> {
  /** Loads the next page. */
  more: Action<[]>
}

/** A list of the administration, page by page. */
export function useAdminPages<Row>(
  key: string,
  path: string,
  query: Readonly<Record<string, string | undefined>>,
): Pages<Row> {
  const list = useResource(key, () => readAdmin<AdminPage<Row>>(path, query))
  const more = useAction(async () => {
    const cursor = list.value?.nextCursor ?? undefined
    const next = await readAdmin<AdminPage<Row>>(path, { ...query, cursor })
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
