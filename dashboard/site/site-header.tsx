import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { SiteDetails } from '../../protocol/api/sites.ts'
import { beginJob } from '../drop/jobs.ts'
import { Button, ButtonLink } from '../kit/button.tsx'
import { CopyButton } from '../kit/copy.tsx'
import { Icon } from '../kit/icon.tsx'
import { Menu } from '../kit/menu.tsx'
import { Badge } from '../kit/panel.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { toHost } from '../sites/address.ts'
import { Expiry, isNear } from '../sites/expiry.tsx'
import { DeleteSite } from './delete-site.tsx'
import { archiveUrl, useDuplicate } from './duplicate-site.ts'
import { shortId } from './version-labels.ts'

/** The address and the state of a site. */
export function SiteState({ site }: { site: SiteDetails }) {
  const { slug, siteUrl, currentVersionId, expiresAt } = site
  return (
    <div class="site-state">
      {currentVersionId !== null && (
        <p class="choices site-address">
          <a href={siteUrl} target="_blank" rel="noreferrer">
            {toHost(siteUrl)}
          </a>
          <CopyButton text={siteUrl} of="address" />
        </p>
      )}
      <p class="choices small">
        {currentVersionId === null ? (
          <Badge tone="warn">Not live yet</Badge>
        ) : (
          <>
            <Badge tone="good">Live</Badge>
            <span class="quiet">
              Updated <RelativeTime at={site.updatedAt} />
            </span>
            <a href={`/sites/${slug}/versions`}>
              Version <code>{shortId(currentVersionId)}</code>
            </a>
          </>
        )}
        {site.hasPassword && (
          <Badge tone="plain">
            <Icon name="lock" size={14} /> Password
          </Badge>
        )}
        {currentVersionId !== null && expiresAt !== null && (
          <Badge tone={isNear(expiresAt) ? 'warn' : 'plain'}>
            <Expiry at={expiresAt} />
          </Badge>
        )}
      </p>
    </div>
  )
}

/** What a user does with a site: visit, publish an update, and a menu of the rest. */
export function SiteActions({ site }: { site: SiteDetails }) {
  const { slug, siteUrl, currentVersionId } = site
  const [isDeleting, setDeleting] = useState(false)
  const duplicate = useDuplicate(slug)
  const isLive = currentVersionId !== null
  return (
    <>
      {isLive && (
        <ButtonLink icon="open" href={siteUrl} outside>
          Visit
        </ButtonLink>
      )}
      <PublishUpdate slug={slug} />
      <Menu
        label="Site actions"
        items={[
          ...(isLive
            ? [
                {
                  name: 'Download files',
                  icon: 'download' as const,
                  href: archiveUrl(slug),
                  download: true,
                },
                { name: 'Duplicate site', icon: 'files' as const, onClick: duplicate },
              ]
            : []),
          { name: 'Delete site', icon: 'trash', danger: true, onClick: () => setDeleting(true) },
        ]}
      />
      {isDeleting && <DeleteSite site={site} onClose={() => setDeleting(false)} />}
    </>
  )
}

/** Phones have no folder picker and do not know the attribute. */
const HAS_FOLDERS =
  'webkitdirectory' in HTMLInputElement.prototype && !matchMedia('(pointer: coarse)').matches

/** An attribute that is missing in the types. */
const FOLDERS: object = { webkitdirectory: true }

/** Chooses files for the next version. The overview shows the progress. */
function PublishUpdate({ slug }: { slug: string }) {
  const { route } = useLocation()
  const folder = useRef<HTMLInputElement>(null)
  const files = useRef<HTMLInputElement>(null)
  const take = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    const picked = [...(currentTarget.files ?? [])]
    currentTarget.value = ''
    if (picked.length === 0) return
    beginJob(slug, { entries: [], files: picked }, { kind: 'own', slug })
    route(`/sites/${slug}`)
  }
  const chooseFiles = () => files.current!.click()
  return (
    <>
      {HAS_FOLDERS ? (
        <Menu
          label="Publish update"
          text="Publish update"
          icon="upload"
          variant="main"
          items={[
            { name: 'Choose folder', icon: 'folder', onClick: () => folder.current!.click() },
            { name: 'Choose files or ZIP', icon: 'files', onClick: chooseFiles },
          ]}
        />
      ) : (
        <Button variant="main" icon="upload" onClick={chooseFiles}>
          Publish update
        </Button>
      )}
      <input ref={folder} type="file" hidden aria-label="Update: a folder" onChange={take} {...FOLDERS} />
      <input ref={files} type="file" multiple hidden aria-label="Update: files" onChange={take} />
    </>
  )
}
