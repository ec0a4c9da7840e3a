import { useState } from 'preact/hooks'
import type { Review, ReviewDecision } from '../../protocol/api/reviews.schema.ts'
import { MAX_NOTE_LENGTH } from '../../protocol/api/reviews.ts'
import { shortId } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import type { DisplayError } from '../api/display-error.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { TextArea } from '../kit/field.tsx'
import { useKeptInput, withoutSent } from '../kit/kept-input.ts'
import { Badge } from '../kit/panel.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { Author } from './thread-card.tsx'

type Verdict = ReviewDecision['decision']

const VERBS: Record<Verdict, string> = { approved: 'Approve', 'changes-requested': 'Request changes' }

interface DecisionPanelProps {
  review: Review
  /** The version on screen. */
  versionId: string
  canWrite: boolean
  onDecide: (decision: Verdict, note: string) => Promise<void>
}

/** The decision about the version on screen, and the buttons to make one. */
export function DecisionPanel({ review, versionId, canWrite, onDecide }: DecisionPanelProps) {
  const [asked, ask] = useState<Verdict | undefined>(undefined)
  const [note = '', write] = useKeptInput<string>(`note/${review.slug}/${review.preview ?? ''}`)
  const decide = useAction(async () => {
    await onDecide(asked!, note.trim())
    ask(undefined)
    write(withoutSent<string | undefined>(note, undefined))
  })
  const error = decide.error && withHint(decide.error)
  // A decision is about a content; of an earlier version only the decisions about itself are known.
  const ofEarlier = review.decisions.find((one) => one.versionId === versionId) ?? null
  const isShown = versionId === review.versionId
  const last = isShown ? review.decided : ofEarlier
  const verdict = isShown ? review.decision : (ofEarlier?.decision ?? 'none')
  return (
    <section class="stack tight" aria-label="Decision">
      <p class="choices">
        <span class="quiet small">Version {shortId(versionId)}</span>
        {verdict === 'approved' && <Badge tone="good">Approved</Badge>}
        {verdict === 'changes-requested' && <Badge tone="warn">Changes requested</Badge>}
      </p>
      {!last && verdict !== 'none' && <p class="small">In another review, for the same content.</p>}
      {last && <Decision {...last} />}
      <div class="choices">
        {(['approved', 'changes-requested'] as const).map((verdict) => (
          <Button
            key={verdict}
            variant={verdict === 'approved' ? 'main' : 'plain'}
            disabled={!canWrite || !review.mayDecide}
            onClick={() => ask(verdict)}
          >
            {VERBS[verdict]}
          </Button>
        ))}
      </div>
      {!review.mayDecide && (
        <p class="quiet small">This link is for comments. For a decision, ask the owner for another link.</p>
      )}
      {asked && (
        <Confirm
          title={`${VERBS[asked]}: version ${shortId(versionId)}`}
          verb={VERBS[asked]}
          variant="main"
          action={Object.assign(() => decide(), decide, { error })}
          onClose={() => ask(undefined)}
        >
          <TextArea
            label="Note (optional)"
            value={note}
            maxLength={MAX_NOTE_LENGTH}
            onWrite={(text) => write(() => text || undefined)}
          />
        </Confirm>
      )}
    </section>
  )
}

function withHint(error: DisplayError): DisplayError {
  if (error.code !== 'VERSION_CONFLICT') return error
  return { ...error, hint: 'Show the newer version, then decide about it.' }
}

function Decision({ author, createdAt, note }: ReviewDecision) {
  return (
    <p class="small">
      <Author author={author} /> · <RelativeTime at={createdAt} />
      {note && (
        <>
          {': '}
          <bdi>{note}</bdi>
        </>
      )}
    </p>
  )
}
