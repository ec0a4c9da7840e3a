import type { SiteDetails } from '../../protocol/api/sites.ts'
import { useAction } from '../api/action.ts'
import { invalidate } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { useGuardedNavigate } from '../app/use-guarded-navigate.ts'
import { Button, ButtonLink } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { showToast } from '../kit/toast.tsx'

/** Duplicates the site, or downloads its files. */
export function Copies({ site }: { site: SiteDetails }) {
  const { slug, currentVersionId, hasPassword } = site
  const navigate = useGuardedNavigate()
  const duplicate = useAction(async () => {
    const copy = await slipway.duplicate(slug)
    invalidate('sites')
    const isSeen = navigate(`/sites/${copy.slug}`)
    showToast(isSeen ? `This is the copy of ${slug}.` : `${slug} is duplicated, as ${copy.slug}.`)
  })
  if (currentVersionId === null) return null
  return (
    <Panel title="Copies">
      <p class="quiet">
        A duplicate is a site of its own with the same files, title, description and picture. The password,
        domains, time to live, older versions and visits are not copied.
        {hasPassword && ' So everybody can see it, until you give it a password.'}
      </p>
      <ErrorNotice error={duplicate.error} />
      <div class="choices">
        <Button icon="files" busy={duplicate.busy} onClick={duplicate}>
          Duplicate
        </Button>
        <ButtonLink icon="archive" href={`/api/v1/publish/${slug}/archive`} download>
          Download all files
        </ButtonLink>
      </div>
    </Panel>
  )
}
