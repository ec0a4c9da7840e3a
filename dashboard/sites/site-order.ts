import { useState } from 'preact/hooks'
import type { SiteSummary } from '../../protocol/api/sites.schema.ts'
import { browser } from '../api/browser-storage.ts'

export type SiteOrder = 'newest' | 'updated' | 'title'

export const SITE_ORDERS: readonly { value: SiteOrder; name: string }[] = [
  { value: 'newest', name: 'Newest' },
  { value: 'updated', name: 'Recently updated' },
  { value: 'title', name: 'Title' },
]

const STORAGE_NAME = 'slipway.site-order'

/** The order of the list, which this browser remembers. */
export function useSiteOrder(): [SiteOrder, (order: string) => void] {
  const [order, setOrder] = useState(() => parseOrder(browser.read(STORAGE_NAME)))
  const choose = (value: string) => {
    browser.write(STORAGE_NAME, value)
    setOrder(parseOrder(value))
  }
  return [order, choose]
}

function parseOrder(value: string | null): SiteOrder {
  return SITE_ORDERS.find((one) => one.value === value)?.value ?? 'newest'
}

const byTitle = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

/** The sites, given newest first, in this order. */
export function sortSites(sites: readonly SiteSummary[], order: SiteOrder): readonly SiteSummary[] {
  if (order === 'updated') return sites.toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt))
  if (order === 'title')
    return sites.toSorted((a, b) => byTitle.compare(a.title ?? a.slug, b.title ?? b.slug))
  return sites
}
