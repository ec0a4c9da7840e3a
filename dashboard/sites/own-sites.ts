import { useRef } from 'preact/hooks'
import type { SiteList } from '../../protocol/api/sites.schema.ts'
import { type Resource, useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { useDebounced } from '../app/use-debounced.ts'

/** Page size, which is also the API's maximum. */
const PAGE_SIZE = 50
const MAX_PAGE_SIZE = 100

export interface OwnSites extends Resource<SiteList> {
  /** Loads the next page of sites. */
  more(): Promise<void>
}

/** The account's sites, newest first: the loaded pages, also after a reload. */
export function useOwnSites(): OwnSites {
  const shown = useRef<SiteList | undefined>(undefined)
  const sites = useResource('sites', () => loadSites({}, shown.current?.publishes.length ?? PAGE_SIZE))
  shown.current = sites.value
  const isLoading = useRef(false)
  isLoading.current = sites.loading
  return {
    ...sites,
    async more() {
      const known = shown.current
      if (!known?.nextCursor) return
      const next = await slipway.list({ limit: PAGE_SIZE, cursor: known.nextCursor })
      // The list may have changed since; one that is being loaded again replaces it.
      if (isLoading.current) return
      sites.set((now) =>
        now.nextCursor === known.nextCursor
          ? { ...next, publishes: [...now.publishes, ...next.publishes] }
          : now,
      )
    },
  }
}

/** Maximum number of sites that a search shows. */
export const MAX_FOUND_SITES = MAX_PAGE_SIZE

/** The account's sites with all of these words in the title or slug; nothing is requested while they are empty. */
export function useFoundSites(words: string): Resource<SiteList> {
  const settled = useDebounced(words)
  const key = words === '' || settled !== words ? undefined : `sites/found/${words}`
  return useResource(key, () => slipway.list({ limit: MAX_FOUND_SITES, q: words }))
}

export const MAX_LOADED_SITES = 1000

/** The account's newest thousand sites, which includes all sites of most accounts; nothing unless it is wanted. */
export function useAllSites(isWanted: boolean): Resource<SiteList> {
  return useResource(isWanted ? 'sites/all' : undefined, () => loadSites())
}

/** The account's newest sites, or those in the trash: at least `count` if there are as many, and at most a thousand. */
export async function loadSites(
  options: { deleted?: true } = {},
  count = MAX_LOADED_SITES,
): Promise<SiteList> {
  const limit = count > PAGE_SIZE ? MAX_PAGE_SIZE : PAGE_SIZE
  let list = await slipway.list({ ...options, limit })
  while (list.publishes.length < Math.min(count, MAX_LOADED_SITES) && list.nextCursor !== null) {
    const next = await slipway.list({ ...options, limit, cursor: list.nextCursor })
    list = { ...next, publishes: [...list.publishes, ...next.publishes] }
  }
  return list
}
