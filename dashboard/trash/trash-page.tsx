import { useRef, useState } from 'preact/hooks'
import type { SiteSummary } from '../../protocol/api/sites.schema.ts'
import { formatDuration, formatNumber } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { invalidate, useResource } from '../api/resource.ts'
import { settings } from '../api/settings.ts'
import { slipway } from '../api/slipway.ts'
import { Page } from '../app/page.tsx'
import { SignedIn } from '../app/signed-in.tsx'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { ErrorNotice, useFocusAround } from '../kit/notice.tsx'
import { Empty } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { LocalTime, RelativeTime } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'
import { toHost } from '../sites/address.ts'
import { loadSites, MAX_LOADED_SITES } from '../sites/own-sites.ts'
import { Thumbnail } from '../sites/thumbnail.tsx'

/** `/trash`: the account's deleted sites. */
export function TrashPage() {
  return (
    <SignedIn to="see your trash">
      <DeletedSites />
    </SignedIn>
  )
}

function DeletedSites() {
  const { value, error, loading, reload } = useResource('sites/trash', () => loadSites({ deleted: true }))
  const changed = () => {
    invalidate('sites', 'domains')
    reload()
  }
  return (
    <Page
      title="Trash"
      above={
        <nav aria-label="Breadcrumb">
          <a href="/sites">Sites</a>
        </nav>
      }
      below={
        <p class="lead">
          Deleted sites can be restored for {formatDuration(settings.trashLifetime)}. Then they are deleted
          permanently.
        </p>
      }
    >
      <ErrorNotice error={error} onRetry={reload} />
      {!value && loading && <Loading what="the trash" shape="rows" />}
      {value?.publishes.length === 0 && <Empty title="The trash is empty" />}
      {value && value.publishes.length > 0 && (
        <ul class="site-list">
          {value.publishes.map((site) => (
            <DeletedSite key={site.slug} site={site} onChanged={changed} />
          ))}
        </ul>
      )}
      {value?.nextCursor && (
        <p class="quiet">
          These are {formatNumber(MAX_LOADED_SITES)} of the sites in the trash. Others follow when you restore
          or delete some of them.
        </p>
      )}
    </Page>
  )
}

function DeletedSite({ site, onChanged }: { site: SiteSummary; onChanged: () => void }) {
  const { slug, siteUrl, title, suspension, deletedAt = '', deletedUntil = '' } = site
  const name = title ?? slug
  const [isConfirming, setConfirming] = useState(false)
  const row = useRef<HTMLLIElement>(null)
  useFocusAround(row)
  const restore = useAction(async () => {
    const { unchanged } = await slipway.undelete(slug)
    onChanged()
    showToast(unchanged ? `${name} is no longer in the trash.` : `${name} restored.`, {
      href: `/sites/${slug}`,
      name: 'Open site',
    })
  })
  return (
    <li ref={row}>
      <div class="site-row trash-row">
        {/* The server does not show pictures of deleted sites. */}
        <Thumbnail site={{ slug, title, thumbnailUrl: null, iconUrl: null, imageUrl: null }} />
        <div class="site-words">
          <h2>
            <bdi>{name}</bdi>
          </h2>
          <p class="small">{toHost(siteUrl)}</p>
          <p class="quiet small">
            Deleted <RelativeTime at={deletedAt} /> · Can be restored until <LocalTime at={deletedUntil} />
          </p>
          <ErrorNotice error={restore.error} />
        </div>
        <div class="choices">
          {!suspension && (
            <Button label={`Restore ${name}`} icon="restore" busy={restore.busy} onClick={restore}>
              Restore
            </Button>
          )}
          <Button
            variant="danger"
            label={`Delete permanently: ${name}`}
            disabled={restore.busy}
            onClick={() => setConfirming(true)}
          >
            Delete permanently
          </Button>
        </div>
      </div>
      {isConfirming && (
        <DeletePermanently
          slug={slug}
          name={name}
          onDeleted={onChanged}
          onClose={() => setConfirming(false)}
        />
      )}
    </li>
  )
}

interface DeletePermanentlyProps {
  slug: string
  name: string
  onDeleted: () => void
  onClose: () => void
}

function DeletePermanently({ slug, name, onDeleted, onClose }: DeletePermanentlyProps) {
  const remove = useAction(async () => {
    await slipway.delete(slug, { permanent: true })
    onClose()
    onDeleted()
    showToast(`${name} deleted permanently.`)
  })
  const title = `Delete ${name} permanently?`
  return (
    <Confirm title={title} verb="Delete permanently" action={remove} typed={{ text: slug }} onClose={onClose}>
      <p>This deletes its files, versions and visits. It can't be undone, and the address can't be reused.</p>
    </Confirm>
  )
}
