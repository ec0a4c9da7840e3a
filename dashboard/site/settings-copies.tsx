import type { SiteDetails } from '../../client/wire.ts'
import { useAction } from '../api/action.ts'
import { forget } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { useWayOn } from '../app/use-way-on.ts'
import { Button, ButtonLink } from '../kit/button.tsx'
import { Trouble } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { say } from '../kit/toast.tsx'

/** A second site like this one, and the files on one's own machine. */
export function Copies({ site }: { site: SiteDetails }) {
  const { slug, currentVersionId, hasPassword } = site
  const wayOn = useWayOn()
  const duplicate = useAction(async () => {
    const copy = await slipway.duplicate(slug)
    forget('sites')
    const isSeen = wayOn(`/sites/${copy.slug}`)
    say(isSeen ? `This is the copy of ${slug}.` : `${slug} is duplicated, as ${copy.slug}.`)
  })
  if (currentVersionId === null) return null
  return (
    <Panel title="Copies">
      <p class="quiet">
        A duplicate is a site of its own with the same files, title, description and picture. The password,
        domains, time to live, older versions and visits are not copied.
        {hasPassword && ' So everybody can see it, until you give it a password.'}
      </p>
      <Trouble failing={duplicate.failing} />
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
