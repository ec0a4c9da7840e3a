import { useEffect, useRef, useState } from 'preact/hooks'
import type { SiteList } from '../../protocol/api/sites.ts'
import { npxCommand } from '../../protocol/client-package.ts'
import { pluralize } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { invalidate, type Resource } from '../api/resource.ts'
import { settings } from '../api/settings.ts'
import { Page } from '../app/page.tsx'
import { SignedIn } from '../app/signed-in.tsx'
import { RecentSites } from '../home/recent-sites.tsx'
import { Button, ButtonLink } from '../kit/button.tsx'
import { CopyBlock } from '../kit/copy.tsx'
import { TextField } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Empty, Loading } from '../kit/panel.tsx'
import { MAX_FOUND_SITES, type OwnSites, useFoundSites, useOwnSites } from './own-sites.ts'
import { SiteRow } from './site-row.tsx'

/** Number of sites from which search is shown. */
const SEARCH_THRESHOLD = 4

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
  const newSite = (
    <ButtonLink variant="main" icon="upload" href="/">
      New site
    </ButtonLink>
  )
  return (
    <Page title="Sites" actions={value && value.publishes.length > 0 && newSite}>
      <ErrorNotice error={sites.error} onRetry={sites.reload} />
      {!value && sites.loading && <Loading what="your sites" />}
      <RecentSites onUpdate={undefined} />
      {value && (value.publishes.length > 0 ? <SiteSearch sites={sites} list={value} /> : <NoSites />)}
    </Page>
  )
}

function SiteSearch({ sites, list }: { sites: OwnSites; list: SiteList }) {
  const [wanted, want] = useState('')
  const rows = useRef<HTMLUListElement>(null)
  const firstNew = useRef<number | undefined>(undefined)
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean)
  // The server searches what is not loaded; until it responds, the loaded sites are searched.
  const search = useFoundSites(list.nextCursor === null ? '' : words.join(' '))
  const found =
    search.value?.publishes ??
    list.publishes.filter(({ slug, title }) => {
      const text = `${title ?? ''} ${slug}`.toLowerCase()
      return words.every((word) => text.includes(word))
    })
  const more = useAction(async () => {
    firstNew.current = found.length
    await sites.more()
  })
  // The pressed button may be removed: focus moves to the first new site.
  useEffect(() => {
    if (firstNew.current === undefined) return
    rows.current?.children[firstNew.current]?.querySelector('a')?.focus()
    firstNew.current = undefined
  }, [list.publishes.length])
  const published = (slug: string) => {
    invalidate(`site/${slug}`)
    sites.reload()
  }
  const hint = describeSearch(found.length, list, search)
  return (
    <div class="stack">
      {list.publishes.length > SEARCH_THRESHOLD && (
        <TextField
          label="Search"
          type="search"
          placeholder="Title or address"
          value={wanted}
          onWrite={want}
          hint={<span role="status">{words.length > 0 && hint}</span>}
        />
      )}
      <p class="drop-hint quiet small">Drop a folder on a site to update it.</p>
      {found.length === 0 && !search.loading && <Empty title="No site is called that." />}
      {found.length > 0 && (
        <ul class="site-list" ref={rows}>
          {found.map((site) => (
            <SiteRow key={site.slug} site={site} onPublished={() => published(site.slug)} />
          ))}
        </ul>
      )}
      <ErrorNotice error={search.error ?? more.error} />
      {list.nextCursor && words.length === 0 && (
        <p>
          <Button onClick={more} busy={more.busy}>
            Show more
          </Button>
        </p>
      )}
    </div>
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
    <Empty title="No site is yours yet.">
      <p>Drop a folder, and it has an address a moment later.</p>
      <p>
        <ButtonLink variant="main" icon="upload" href="/">
          Publish a folder
        </ButtonLink>
      </p>
      <p class="quiet">From a terminal:</p>
      <CopyBlock text={commands} of="the commands" />
    </Empty>
  )
}
