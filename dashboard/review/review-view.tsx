import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { SiteReview } from '../../client/sdk/slipway.ts'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import type { Review, ReviewLink } from '../../protocol/api/reviews.schema.ts'
import type { SiteDetails } from '../../protocol/api/sites.schema.ts'
import { useAction } from '../api/action.ts'
import { type Resource, useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { CopyLine } from '../kit/copy.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { Choice } from '../kit/field.tsx'
import { ErrorNotice, Notice, useFocusAround } from '../kit/notice.tsx'
import { Empty, Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { LocalTime, RelativeTime } from '../kit/time.tsx'
import { ReviewDesk } from './review-desk.tsx'
import { useReview } from './use-review.ts'

/** The reviews of a site: of its live version and of each of its previews. */
export function ReviewView({ site }: { site: SiteDetails }) {
  const { slug, requireApproval } = site
  const { query, route } = useLocation()
  const previews = useResource(`site/${slug}/previews`, () => slipway.previews(slug))
  const names = previews.value?.previews.map(({ name }) => name) ?? []
  const live = site.currentVersionId === null ? [] : [{ value: '', name: 'Live version' }]
  const choices = [...live, ...names.map((name) => ({ value: name, name: `Preview ${name}` }))]
  const wanted = query.preview ?? choices[0]?.value
  const chosen = choices.find(({ value }) => value === wanted) ?? choices[0]
  // The known list may be a minute old, and the preview newer.
  const isMissing = previews.value !== undefined && wanted !== undefined && chosen?.value !== wanted
  const [checked, setChecked] = useState<string | undefined>(undefined)
  useEffect(() => {
    if (!isMissing || checked === wanted) return
    setChecked(wanted)
    previews.reload()
  }, [isMissing, wanted])
  const failure = <ErrorNotice error={previews.error} onRetry={previews.reload} />
  if (!previews.value) return previews.error ? failure : <Loading what="the previews" />
  if (isMissing && (checked !== wanted || previews.loading)) return <Loading what="the previews" />
  if (!chosen)
    return (
      <Empty title="Nothing to review yet">
        <p>Publish a version or a preview first.</p>
      </Empty>
    )
  return (
    <>
      {failure}
      {chosen.value !== wanted && (
        <Notice title={`The preview ${wanted} is deleted`}>
          <p>Its comments are deleted with it. This is the review of another version.</p>
        </Notice>
      )}
      <div class="review-subject">
        <Choice
          label="Reviewed version"
          hint={
            requireApproval === 'collaborators' && chosen.value !== ''
              ? 'To be promoted, it needs the approval of a collaborator.'
              : undefined
          }
          value={chosen.value}
          choices={choices}
          onChoose={(value) => route(`/sites/${slug}/review${value && `?preview=${value}`}`)}
        />
      </div>
      <OwnReview key={`${slug}/${chosen.value}`} slug={slug} preview={chosen.value} />
    </>
  )
}

function OwnReview({ slug, preview }: { slug: string; preview: string }) {
  const api = slipway.review(slug, preview || undefined)
  const review = useReview(
    `${slug}/${preview}`,
    () => api.get(),
    () => api,
  )
  return (
    <>
      <ReviewDesk review={review} />
      <Links api={api} review={review} />
    </>
  )
}

/** With which reviewers without an account comment and decide. */
function Links({ api, review }: { api: SiteReview; review: Resource<Review> }) {
  const [created, show] = useState<{ id: string; url: string } | undefined>(undefined)
  const create = useAction(async (audience: 'anyone' | 'collaborators') => {
    const { url, ...link } = await api.createLink({ audience })
    show({ id: link.id, url })
    review.set((known) => ({ ...known, links: [...(known.links ?? []), link] }))
  })
  const setRevoked = (id: string) => {
    show((shown) => (shown?.id === id ? undefined : shown))
    review.set((known) => ({ ...known, links: known.links?.filter((link) => link.id !== id) ?? [] }))
  }
  const links = review.value?.links ?? []
  return (
    <Panel
      title="Review links"
      lead="Anyone with a link can see this version, comment and decide, without an account."
      actions={
        <div class="choices">
          <Button busy={create.busy} onClick={() => create('anyone')}>
            Create link
          </Button>
          <Button variant="link" disabled={create.busy} onClick={() => create('collaborators')}>
            Create link for collaborators
          </Button>
        </div>
      }
    >
      <ErrorNotice error={create.error} />
      {created && (
        <div class="stack tight">
          <p>Copy the link now: it is shown once.</p>
          <CopyLine text={created.url} of="the review link" />
        </div>
      )}
      {links.length > 0 && (
        <ul class="plain-list stack tight" aria-label="Review links">
          {links.map((link) => (
            <LinkRow key={link.id} {...{ api, link }} onRevoked={() => setRevoked(link.id)} />
          ))}
        </ul>
      )}
    </Panel>
  )
}

interface LinkRowProps {
  api: SiteReview
  link: ReviewLink
  onRevoked: () => void
}

function LinkRow({ api, link, onRevoked }: LinkRowProps) {
  const { id, audience, createdBy, createdAt, expiresAt } = link
  const [isConfirming, setConfirming] = useState(false)
  const row = useRef<HTMLLIElement>(null)
  useFocusAround(row)
  const revoke = useAction(async () => {
    await api.revokeLink(id).catch((failure: unknown) => {
      // It was revoked elsewhere.
      if (!isSlipwayError(failure, 'NOT_FOUND')) throw failure
    })
    onRevoked()
  })
  return (
    <li class="panel-head" ref={row}>
      <span>
        {audience === 'anyone' ? 'Anyone with the link' : 'Collaborators'}
        <span class="quiet small">
          {' · Created '}
          <RelativeTime at={createdAt} />
          {createdBy && <bdi> by {createdBy}</bdi>}
          {' · '}
          {expiresAt === null ? (
            'Ends with the preview'
          ) : (
            <>
              Ends <LocalTime at={expiresAt} />
            </>
          )}
        </span>
      </span>
      <Button variant="link" label={`Revoke link ${id.slice(0, 10)}`} onClick={() => setConfirming(true)}>
        Revoke
      </Button>
      {isConfirming && (
        <Confirm
          title="Revoke this link?"
          verb="Revoke link"
          action={revoke}
          onClose={() => setConfirming(false)}
        >
          <p>Everyone who has it loses access immediately. It can't be restored.</p>
        </Confirm>
      )}
    </li>
  )
}
