import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { shortId } from '../../protocol/format.ts'
import { slipway } from '../api/slipway.ts'
import { useFilePickers } from '../drop/file-pickers.tsx'
import { beginJob } from '../drop/jobs.ts'
import { Button, ButtonLink } from '../kit/button.tsx'
import { CopyButton, copyAddress } from '../kit/copy.tsx'
import { Icon } from '../kit/icon.tsx'
import { Menu, type MenuItem } from '../kit/menu.tsx'
import { Badge } from '../kit/panel.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'
import { type PaletteOption, usePageCommands } from '../palette/page-commands.ts'
import { toHost } from '../sites/address.ts'
import { Expiry, isNear } from '../sites/expiry.tsx'
import { DeleteSite } from './delete-site.tsx'
import { archiveUrl, useDuplicate } from './duplicate-site.ts'
import { showFailure, undoVersion } from './undo-version.ts'

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
          <CopyButton text={siteUrl} of="URL" />
        </p>
      )}
      <p class="choices small">
        {currentVersionId === null ? (
          <Badge tone="warn">Not live yet</Badge>
        ) : (
          <>
            {site.suspension ? <Badge tone="wrong">Suspended</Badge> : <Badge tone="good">Live</Badge>}
            <span class="quiet">
              Updated <RelativeTime at={site.updatedAt} />
            </span>
            <a href={`/sites/${slug}/versions`}>
              Version <code>{shortId(currentVersionId)}</code>
            </a>
          </>
        )}
        {site.ownerEmail && (
          <span class="quiet small shared-by">
            Shared by <bdi>{site.ownerEmail}</bdi>
          </span>
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

interface SiteActionsProps {
  site: SiteDetails
  /** Called when another version is live. */
  onRestored: () => void
}

/** What a user does with a site: visit, publish an update, and a menu of the rest. The command palette has them too. */
export function SiteActions({ site, onRestored }: SiteActionsProps) {
  const { slug, siteUrl, currentVersionId, role, suspension } = site
  const canChange = !suspension
  const [isDeleting, setDeleting] = useState(false)
  const duplicate = useDuplicate(slug)
  useEffect(() => {
    // The menu is closed.
    const { error } = duplicate
    if (error) showToast(`Couldn't duplicate the site. ${error.title} ${error.hint}`)
  }, [duplicate.error])
  const pickers = useUpdatePickers(slug)
  const isLive = currentVersionId !== null
  usePageCommands([
    ...(isLive ? liveCommands(siteUrl) : []),
    ...(canChange ? changeCommands(pickers) : []),
    ...(canChange && isLive ? [undoCommand(site, onRestored)] : []),
    ...pageOptions(site),
  ])
  const items: MenuItem[] = []
  if (isLive) items.push({ name: 'Download files', icon: 'download', href: archiveUrl(slug), download: true })
  if (isLive && canChange) items.push({ name: 'Duplicate site', icon: 'files', onClick: duplicate })
  if (role === 'owner')
    items.push({ name: 'Delete site', icon: 'trash', danger: true, onClick: () => setDeleting(true) })
  return (
    <>
      {isLive && canChange && (
        <ButtonLink icon="open" href={siteUrl} outside>
          Visit
        </ButtonLink>
      )}
      {canChange && <PublishUpdate pickers={pickers} />}
      {items.length > 0 && <Menu label="Site actions" items={items} />}
      {isDeleting && <DeleteSite site={site} onClose={() => setDeleting(false)} />}
    </>
  )
}

function liveCommands(siteUrl: string): PaletteOption[] {
  const visit = () => open(siteUrl, '_blank', 'noreferrer')
  return [
    { key: 'visit', name: 'Visit this site', detail: toHost(siteUrl), icon: 'open', target: visit },
    { key: 'copy', name: 'Copy URL', icon: 'copy', target: () => copyAddress(siteUrl) },
  ]
}

function changeCommands(pickers: Pickers): PaletteOption[] {
  return updateItems(pickers).map(({ name, icon, onClick }): PaletteOption => {
    const words = `Publish update: ${name.replace('Choose', 'choose')}`
    return { key: `update-${icon}`, name: words, icon, target: onClick }
  })
}

/** The pages of the site. All settings of a suspended one are refused. */
function pageOptions({ slug, role, suspension }: SiteDetails): PaletteOption[] {
  const base = `/sites/${slug}`
  const settings = `${base}/settings`
  const pages: PaletteOption[] = [
    { key: 'files', name: 'Files of this site', keywords: 'edit', icon: 'files', target: `${base}/files` },
    { key: 'versions', name: 'Versions of this site', icon: 'clock', target: `${base}/versions` },
    { key: 'visits', name: 'Visits of this site', icon: 'page', target: `${base}/visits` },
  ]
  if (!suspension)
    pages.push({ key: 'settings', name: 'Settings of this site', icon: 'edit', target: settings })
  if (!suspension && role === 'owner')
    pages.push({ key: 'delete', name: 'Delete this site', icon: 'trash', target: `${settings}#danger-zone` })
  return pages
}

function undoCommand(site: SiteDetails, onRestored: () => void): PaletteOption {
  const undo = () => rollBack(site, onRestored)
  return { key: 'undo', name: 'Undo the last publish', icon: 'restore', target: undo }
}

type Pickers = ReturnType<typeof useFilePickers>

/** Chooses files for the next version. The overview shows the progress. */
function useUpdatePickers(slug: string): Pickers {
  const { route } = useLocation()
  return useFilePickers({ folder: 'Update: a folder', files: 'Update: files' }, (picked) => {
    beginJob(slug, picked, { kind: 'own', slug })
    route(`/sites/${slug}`)
  })
}

function updateItems({ chooseFolder, chooseFiles }: Pickers) {
  return [
    ...(chooseFolder ? [{ name: 'Choose a folder', icon: 'folder' as const, onClick: chooseFolder }] : []),
    { name: 'Choose files or a ZIP', icon: 'files' as const, onClick: chooseFiles },
  ]
}

function PublishUpdate({ pickers }: { pickers: Pickers }) {
  return (
    <>
      {pickers.chooseFolder ? (
        <Menu
          label="Publish update"
          text="Publish update"
          icon="upload"
          variant="main"
          items={updateItems(pickers)}
        />
      ) : (
        <Button variant="main" icon="upload" onClick={pickers.chooseFiles}>
          Publish update
        </Button>
      )}
      {pickers.inputs}
    </>
  )
}

/** Makes the version that the live one replaced live again, unless another went live since; offers to undo that. */
async function rollBack(
  { slug, currentVersionId }: Pick<SiteDetails, 'slug' | 'currentVersionId'>,
  onRestored: () => void,
): Promise<void> {
  try {
    const restored = await slipway.restore(slug, 'previous', currentVersionId ?? undefined)
    onRestored()
    showToast('Rolled back to the previous version.', undoVersion({ ...restored, onRestored }))
  } catch (error) {
    showFailure('roll back', error, onRestored)
  }
}
