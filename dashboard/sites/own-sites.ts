import { useRef } from 'preact/hooks'
import type { SiteList } from '../../client/wire.ts'
import { type Resource, useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'

/** Sites of one answer, and the most that one may have. */
const PAGE = 50
const MOST = 100

export interface OwnSites extends Resource<SiteList> {
  /** Asks for the page of sites after those that are known. */
  more(): Promise<void>
}

/** One's sites, newest first, as many as were asked for; they stay in sight while they are asked for again. */
export function useOwnSites(): OwnSites {
  const shown = useRef<SiteList | undefined>(undefined)
  const sites = useResource('sites', async () => {
    const known = shown.current
    const isLong = known !== undefined && known.publishes.length > PAGE
    return joined(await slipway.list({ limit: isLong ? MOST : PAGE }), known)
  })
  shown.current = sites.value ?? shown.current
  return {
    ...sites,
    value: shown.current,
    async more() {
      const known = shown.current
      if (!known?.nextCursor) return
      const next = await slipway.list({ limit: PAGE, cursor: known.nextCursor })
      sites.set({ publishes: [...known.publishes, ...next.publishes], nextCursor: next.nextCursor })
    },
  }
}

/** The newest sites as they are now, and of those that were known before the ones that are older. */
function joined(newest: SiteList, known: SiteList | undefined): SiteList {
  const last = newest.publishes.at(-1)
  if (!known || !last || newest.nextCursor === null) return newest
  const older = known.publishes.slice(known.publishes.findIndex(({ slug }) => slug === last.slug) + 1)
  if (older.length === 0 || older.length === known.publishes.length) return newest
  return { publishes: [...newest.publishes, ...older], nextCursor: known.nextCursor }
}
