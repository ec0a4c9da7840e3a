import { useEffect, useRef, useState } from 'preact/hooks'
import type { Reviewer, ReviewThread, ThreadChange } from '../../protocol/api/reviews.schema.ts'
import { MAX_COMMENT_LENGTH } from '../../protocol/api/reviews.ts'
import { handleSubmit, useAction } from '../api/action.ts'
import { Button } from '../kit/button.tsx'
import { TextArea } from '../kit/field.tsx'
import { hasKeptInput, useKeptInput, withoutSent } from '../kit/kept-input.ts'
import { ErrorNotice, useFocusAround } from '../kit/notice.tsx'
import { Badge } from '../kit/panel.tsx'
import { RelativeTime } from '../kit/time.tsx'

interface ThreadCardProps {
  slug: string
  thread: ReviewThread
  /** On its mark. */
  label: string
  isSelected: boolean
  /** Whether the reviewer can write: a guest needs a name. */
  canWrite: boolean
  onSelect: () => void
  onChange: (change: ThreadChange) => Promise<void>
}

const replyTo = (slug: string, { id }: ReviewThread) => `reply/${slug}/${id}`

/** Whether a reply is being typed. */
export function hasReply(slug: string, thread: ReviewThread): boolean {
  return hasKeptInput(replyTo(slug, thread))
}

/** A thread: its place, its comments, and what can be done with it. */
export function ThreadCard(props: ThreadCardProps) {
  const { slug, thread, label, isSelected, canWrite, onSelect, onChange } = props
  const { status, outdated, place, comments } = thread
  const card = useCard(isSelected)
  const [text = '', write] = useKeptInput<string>(replyTo(slug, thread))
  const [wasOpen] = useState(text !== '')
  const reply = useAction(async () => {
    await onChange({ text: text.trim() })
    write(withoutSent(text, undefined))
  })
  const turn = useAction(() => onChange({ status: status === 'open' ? 'resolved' : 'open' }))
  return (
    <li ref={card} tabIndex={-1} class="panel thread stack tight" aria-current={isSelected || undefined}>
      <div class="panel-head">
        <span class="choices">
          <Button variant="link" label={`Show comment ${label}`} onClick={onSelect}>
            <span class="mark">{label}</span>
          </Button>
          {outdated && status === 'open' && <Badge tone="warn">Outdated</Badge>}
        </span>
        <Button variant="link" busy={turn.busy} disabled={!canWrite} onClick={turn}>
          {status === 'open' ? 'Resolve' : 'Reopen'}
        </Button>
      </div>
      {place.text !== '' && (
        <p class="quote small">
          <bdi>{place.text}</bdi>
        </p>
      )}
      {comments.map((comment) => (
        <div key={comment.id} class="comment">
          <p class="small quiet">
            <Author author={comment.author} /> · <RelativeTime at={comment.createdAt} />
          </p>
          <p class="words">
            <bdi>{comment.text}</bdi>
          </p>
        </div>
      ))}
      <ErrorNotice error={turn.error} />
      {(isSelected || wasOpen) && (
        <form class="stack tight" onSubmit={handleSubmit(reply)}>
          <TextArea
            label="Reply"
            value={text}
            maxLength={MAX_COMMENT_LENGTH}
            onWrite={(text) => write(() => text || undefined)}
          />
          <ErrorNotice error={reply.error} />
          <p>
            <Button busy={reply.busy} disabled={!canWrite || text.trim() === ''}>
              Reply
            </Button>
          </p>
        </form>
      )}
    </li>
  )
}

/** Keeps the focus where a selected card appears, and where one disappears. */
function useCard(isSelected: boolean) {
  const card = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (!isSelected) return
    card.current?.scrollIntoView({ block: 'nearest' })
    // After the form of a new comment.
    if (document.activeElement?.contains(card.current)) card.current?.focus()
  }, [isSelected])
  // A thread that is resolved or outdated leaves the list.
  useFocusAround(card)
  return card
}

const ROLES: Record<Reviewer['role'], string> = {
  owner: 'Owner',
  collaborator: 'Collaborator',
  guest: 'Guest',
  key: 'API key',
}

/** A name as it was typed, with the role that the server has verified, which no name can look like. */
export function Author({ author: { name, role } }: { author: Reviewer }) {
  return (
    <>
      <bdi>{name}</bdi> <Badge tone="plain">{ROLES[role]}</Badge>
    </>
  )
}
