import { useEffect } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { invalidate, type Resource, useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { useSignal } from '../api/use-signal.ts'
import { lazyComponent } from '../app/lazy-component.tsx'
import { NotFoundPage } from '../app/not-found-page.tsx'
import { Page } from '../app/page.tsx'
import { SignedIn } from '../app/signed-in.tsx'
import { SuspensionNotice } from '../app/suspension-notice.tsx'
import { moveJob } from '../drop/jobs.ts'
import { useSiteTarget } from '../drop/page-target.ts'
import { ErrorNotice } from '../kit/notice.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { Views } from '../kit/tabs.tsx'
import { drawOnFirstVisit } from '../thumbnail/first-visit.ts'
import { FilesView } from './files-view.tsx'
import { OverviewView } from './overview-view.tsx'
import { hasChanges, moveDraft, settingsDraft } from './settings-draft.ts'
import { SiteActions, SiteState } from './site-header.tsx'
import type { OnChanged } from './use-settings.ts'
import { VersionsView } from './versions-view.tsx'

const SettingsView = lazyComponent('the settings', () =>
  import('./settings-view.tsx').then((it) => it.SettingsView),
)
const ReviewView = lazyComponent('the review', () =>
  import('../review/review-view.tsx').then((it) => it.ReviewView),
)
const VisitsView = lazyComponent('the visits', () =>
  import('../visits/visits-view.tsx').then((it) => it.VisitsView),
)

/** Tabs of a site's page; the overview without a path segment. */
const VIEWS = [
  ['', 'Overview'],
  ['files', 'Files'],
  ['versions', 'Versions'],
  ['review', 'Review'],
  ['visits', 'Visits'],
  ['settings', 'Settings'],
] as const

/** The page of a site. */
export function SitePage() {
  const { slug = '', view = '' } = useRoute().params
  if (!VIEWS.some(([name]) => name === view)) return <NotFoundPage />
  return (
    <SignedIn to="see this site">
      <OwnSite key={slug} slug={slug} view={view} />
    </SignedIn>
  )
}

function OwnSite({ slug, view }: { slug: string; view: string }) {
  const site = useResource(`site/${slug}`, () => slipway.details(slug))
  const { error, value } = site
  const isUnsaved = hasChanges(useSignal(settingsDraft(slug)))
  const isSuspended = value?.suspension !== undefined
  const isGone = error?.code === 'NOT_FOUND' || error?.code === 'SITE_EXPIRED'
  useEffect(() => {
    if (value) void drawOnFirstVisit(value)
  }, [value?.currentVersionId])
  usePresentName(slug, value?.slug, view)
  useSiteTarget(slug, value?.title ?? slug, !isSuspended && !isGone)
  if (isGone) return <SiteIsGone slug={slug} hasExpired={error.code === 'SITE_EXPIRED'} />
  const name = value?.title ?? slug
  const published = () => {
    invalidate('sites', `site/${slug}/versions`)
    site.reload()
  }
  return (
    <Page
      title={name}
      above={
        <nav aria-label="Breadcrumb">
          <a href="/sites">Sites</a>
        </nav>
      }
      actions={value && <SiteActions site={value} onRestored={published} />}
      below={
        <>
          {value && <SiteState site={value} />}
          <SuspensionNotice of="site" suspension={value?.suspension} />
          {/* Tabs above what is still loading would move down when it is shown. */}
          {(value || error) && (
            <Views
              label="Site"
              views={VIEWS.filter(([word]) => word !== 'settings' || !isSuspended).map(([word, name]) => ({
                href: `/sites/${slug}${word && `/${word}`}`,
                name,
                ...(word === 'settings' && isUnsaved && { note: 'unsaved changes' }),
              }))}
            />
          )}
        </>
      }
    >
      <ErrorNotice error={error} onRetry={site.reload} />
      {!value && site.loading && <Loading what="the site" shape="picture" />}
      {value && <View view={view} resource={site} site={value} onPublished={published} />}
    </Page>
  )
}

/** Leads from a former name of a site to its present one, with what was begun under the former one. */
function usePresentName(slug: string, present: string | undefined, view: string): void {
  const { route } = useLocation()
  useEffect(() => {
    if (present === undefined || present === slug) return
    moveDraft(slug, present)
    moveJob(slug, present)
    // The site may get this name back.
    invalidate(`site/${slug}`)
    route(`/sites/${present}${view && `/${view}`}${location.search}${location.hash}`, true)
  }, [present])
}

interface ViewProps {
  view: string
  site: SiteDetails
  resource: Resource<SiteDetails>
  /** Called when another version is live. */
  onPublished: () => void
}

function View({ view, site, resource, onPublished }: ViewProps) {
  const changed: OnChanged = (change) => {
    resource.set(change)
    invalidate('sites')
  }
  if (view === 'files') return <FilesView site={site} isStale={resource.loading} onLive={onPublished} />
  if (view === 'versions') return <VersionsView site={site} onRestored={resource.reload} />
  if (view === 'review') return <ReviewView site={site} />
  if (view === 'visits') return <VisitsView slug={site.slug} />
  // All settings of a suspended site are refused; its menu deletes it.
  if (view === 'settings' && !site.suspension)
    return <SettingsView site={site} onChanged={changed} onPublished={onPublished} />
  return <OverviewView site={site} onPublished={onPublished} />
}

function SiteIsGone({ slug, hasExpired }: { slug: string; hasExpired: boolean }) {
  useEffect(() => invalidate('sites', `site/${slug}`), [slug])
  return (
    <Page title={hasExpired ? 'This site has expired' : 'Site not found'} narrow>
      <p class="lead">
        {hasExpired
          ? 'Publish the folder again to get a new site.'
          : "This site was deleted, it's no longer shared with you, or it belongs to another account."}
      </p>
      <p>
        <a href="/sites">Your sites</a>
      </p>
    </Page>
  )
}
