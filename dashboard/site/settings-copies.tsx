import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { Button, ButtonLink } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { archiveUrl, useDuplicate } from './duplicate-site.ts'

/** Duplicates the site, or downloads its files. */
export function Copies({ site }: { site: SiteDetails }) {
  const { slug, currentVersionId, hasPassword } = site
  const duplicate = useDuplicate(slug)
  if (currentVersionId === null) return null
  return (
    <div class="stack tight">
      <h3>Copies</h3>
      <p class="quiet small">
        A duplicate has the same files and link preview, but no versions, visits, domains or expiry.
        {hasPassword && ' It has no password: anyone with its link can view it.'}
      </p>
      <ErrorNotice error={duplicate.error} />
      <div class="choices">
        <Button icon="files" busy={duplicate.busy} onClick={duplicate}>
          Duplicate site
        </Button>
        <ButtonLink icon="archive" href={archiveUrl(slug)} download>
          Download files
        </ButtonLink>
      </div>
    </div>
  )
}
