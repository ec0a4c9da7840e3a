import { useEffect, useRef, useState } from 'preact/hooks'
import type { SiteList, SiteSummary } from '../../protocol/api/sites.schema.ts'
import { npxCommand } from '../../protocol/client-package.ts'
import { formatNumber, pluralize } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { invalidate, type Resource } from '../api/resource.ts'
import { settings } from '../api/settings.ts'
import { Page } from '../app/page.tsx'
import { SignedIn } from '../app/signed-in.tsx'
import { SuspensionNotice } from '../app/suspension-notice.tsx'
import { HAS_FOLDERS } from '../drop/file-pickers.tsx'
import { RecentSites } from '../home/recent-sites.tsx'
import { Button, ButtonLink } from '../kit/button.tsx'
import { CopyBlock } from '../kit/copy.tsx'
import { Choice, TextField } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Empty } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { drawListed } from '../thumbnail/first-visit.ts'
import {
  MAX_FOUND_SITES,
  MAX_LOADED_SITES,
  type OwnSites,
  useAllSites,
  useFoundSites,
  useOwnSites,
} from './own-sites.ts'
import { SITE_ORDERS, sortSites, useSiteOrder } from './site-order.ts'
import { SiteRow } from './site-row.tsx'

/** Number of sites from which search is shown. */
const SEARCH_THRESHOLD = 4

/** Rows that are added at a time: a thousand of them slow the page down. */
const MAX_ROWS = 100

/** The account's sites. */
export function SitesPage() {
  return (
    <SignedIn to="see your sites">
      <OwnedSites />
    </SignedIn>
  )
}

function OwnedSites() {
  const sites = useOwnSites()
  const { value } = sites
  return (
    <Page
      title="Sites"
      actions={
        <SitesActions
          canPublish={value !== undefined && value.publishes.length > 0 && value.suspension === undefined}
        />
      }
    >
      <SuspensionNotice of="account" suspension={value?.suspension} />
      <ErrorNotice error={sites.error} onRetry={sites.reload} />
      {!value && sites.loading && <Loading what="your sites" shape="rows" />}
      <RecentSites />
      {value &&
        (value.publishes.length > 0 ? (
          <SiteSearch sites={sites} list={value} />
        ) : (
          !value.suspension && <NoSites />
        ))}
    </Page>
  )
}

function SitesActions({ canPublish }: { canPublish: boolean }) {
  return (
    <>
      {settings.trashLifetime > 0 && (
        <ButtonLink icon="trash" href="/trash">
          Trash
        </ButtonLink>
      )}
      {canPublish && (
        <ButtonLink variant="main" icon="upload" href="/">
          New site
        </ButtonLink>
      )}
    </>
  )
}

function SiteSearch({ sites, list }: { sites: OwnSites; list: SiteList }) {
  const [wanted, want] = useState('')
  const [order, choose] = useSiteOrder()
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean)
  const isPartial = list.nextCursor !== null
  // The server searches what is not loaded; until it responds, the loaded sites are searched.
  const search = useFoundSites(isPartial ? words.join(' ') : '')
  const all = useAllSites(isPartial && order !== 'newest' && words.length === 0)
  const isSorting = isPartial && order !== 'newest' && words.length === 0 && !all.value && !all.error
  const found = sortSites(
    search.value?.publishes ?? (all.value ?? list).publishes.filter((site) => matches(site, words)),
    order,
  )
  const changed = (slug: string) => {
    invalidate('sites', `site/${slug}`)
    sites.reload()
    if (search.value) search.reload()
    if (all.value) all.reload()
  }
  const isLong = list.publishes.length > SEARCH_THRESHOLD
  const hint = describeSearch(found.length, list, search)
  return (
    <div class="stack">
      <div class="list-tools">
        {isLong ? (
          <TextField
            label="Search"
            type="search"
            placeholder="Title or URL"
            value={wanted}
            onWrite={want}
            hint={<span role="status">{words.length > 0 && hint}</span>}
          />
        ) : (
          !list.suspension && <DropHint />
        )}
        {list.publishes.length > 1 && (
          <Choice label="Sort by" value={order} choices={SITE_ORDERS} onChoose={choose} />
        )}
      </div>
      {found.length === 0 && !search.loading && <Empty title={`No sites match "${wanted.trim()}".`} />}
      <ErrorNotice error={search.error ?? all.error} onRetry={search.error ? search.reload : all.reload} />
      {isLong && found.length > 0 && !list.suspension && <DropHint />}
      {/* An order of the loaded sites only would change while the others arrive. */}
      {isSorting && <Loading what="all your sites" shape="rows" />}
      {found.length > 0 && !isSorting && (
        <Rows
          key={`${order} ${words.join(' ')}`}
          found={found}
          onChanged={changed}
          onMore={isPartial && words.length === 0 && !all.value ? sites.more : undefined}
        />
      )}
      {all.value?.nextCursor && <OthersHint />}
    </div>
  )
}

function OthersHint() {
  return (
    <p class="quiet">
      These are your newest {formatNumber(MAX_LOADED_SITES)} sites. Search finds the others.
    </p>
  )
}

function DropHint() {
  return <p class="drop-hint quiet small">Drop a folder on a site to update it.</p>
}

function matches({ slug, title }: SiteSummary, words: readonly string[]): boolean {
  const text = `${title ?? ''} ${slug}`.toLowerCase()
  return words.every((word) => text.includes(word))
}

interface RowsProps {
  found: readonly SiteSummary[]
  onChanged: (slug: string) => void
  /** Loads more sites; undefined when there are none. */
  onMore: (() => Promise<void>) | undefined
}

function Rows({ found, onChanged, onMore }: RowsProps) {
  const rows = useRef<HTMLUListElement>(null)
  const firstNew = useRef<number | undefined>(undefined)
  const [limit, setLimit] = useState(MAX_ROWS)
  const visible = found.slice(0, limit)
  const more = useAction(async () => {
    firstNew.current = visible.length
    if (visible.length === found.length) await onMore?.()
    setLimit(limit + MAX_ROWS)
  })
  // The pressed button may be removed: focus moves to the first new site.
  useEffect(() => {
    if (firstNew.current === undefined || visible.length <= firstNew.current) return
    rows.current?.children[firstNew.current]?.querySelector('a')?.focus()
    firstNew.current = undefined
  }, [visible.length])
  useEffect(() => void drawListed(visible), [visible.length])
  return (
    <>
      <ul class="site-list" ref={rows}>
        {visible.map((site) => (
          <SiteRow key={site.slug} site={site} onChanged={() => onChanged(site.slug)} />
        ))}
      </ul>
      <ErrorNotice error={more.error} />
      {(onMore || visible.length < found.length) && (
        <p>
          <Button onClick={more} busy={more.busy}>
            Show more
          </Button>
        </p>
      )}
    </>
  )
}

function describeSearch(found: number, list: SiteList, search: Resource<SiteList>): string {
  if (list.nextCursor === null) return `${found} of ${pluralize(list.publishes.length, 'site')}`
  if (!search.value) return search.error ? '' : 'Searching…'
  if (search.value.nextCursor !== null) return `The first ${MAX_FOUND_SITES} sites found`
  return `${pluralize(found, 'site')} found`
}

function NoSites() {
  const npx = npxCommand(settings.baseUrl)
  const commands = `${npx} login\n${npx} publish ./folder`
  return (
    <Empty title="No sites">
      {HAS_FOLDERS && <p>Drop a folder here to publish it.</p>}
      <p>
        <ButtonLink variant="main" icon="upload" href="/">
          {HAS_FOLDERS ? 'Publish a folder' : 'Publish files'}
        </ButtonLink>
      </p>
      <p class="quiet">Or use the command line:</p>
      <CopyBlock text={commands} of="the commands" />
    </Empty>
  )
}
