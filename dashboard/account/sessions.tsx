import { useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import type { SessionSummary } from '../../protocol/api/account.ts'
import { pluralize } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { useResource } from '../api/resource.ts'
import { rememberSignedIn } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { formatDay } from '../app/format-time.ts'
import { Button } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Badge, Loading, Panel } from '../kit/panel.tsx'
import { RelativeTime } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'

/** Lists browser sessions and ends them. */
export function Sessions() {
  const { route } = useLocation()
  const { value, set, error, reload } = useResource('me/sessions', () => slipway.sessions())
  const sessions = value?.sessions ?? []
  const others = sessions.filter(({ current }) => !current)
  const all = [...sessions.filter(({ current }) => current), ...others]
  const list = useRef<HTMLUListElement>(null)

  const end = useAction(async (session: SessionSummary) => {
    await ignoreEnded(() => slipway.endSession(session.id))
    if (session.current) {
      route('/')
      rememberSignedIn(null)
      return showToast('You are signed out.')
    }
    set((known) => ({ sessions: known.sessions.filter(({ id }) => id !== session.id) }))
    list.current?.focus()
    showToast(`${sessionName(session)} is signed out.`)
  })
  const endOthers = useAction(async () => {
    const { ended } = await slipway.endOtherSessions()
    set((known) => ({ sessions: known.sessions.filter(({ current }) => current) }))
    list.current?.focus()
    showToast(`${pluralize(ended, 'other browser')} signed out.`)
  })

  return (
    <Panel
      title="Browsers that are signed in"
      lead="Each stays so for 30 days, or until it is signed out. The API key is not touched by that."
      actions={
        others.length > 0 && (
          <Button busy={endOthers.busy} onClick={endOthers}>
            Sign out all others
          </Button>
        )
      }
    >
      <ErrorNotice error={error} onRetry={reload} />
      <ErrorNotice error={end.error ?? endOthers.error} />
      {!value && !error && <Loading what="the browsers" />}
      <ul class="browsers" ref={list} tabIndex={-1}>
        {all.map((session) => (
          <Row key={session.id} session={session} busy={end.busy} onEnd={() => end(session)} />
        ))}
      </ul>
    </Panel>
  )
}

interface RowProps {
  session: SessionSummary
  busy: boolean
  onEnd: () => unknown
}

function Row({ session, busy, onEnd }: RowProps) {
  return (
    <li>
      <div>
        <p class="title">
          {sessionName(session)} {session.current && <Badge tone="good">this one</Badge>}
        </p>
        <p class="quiet small">
          Signed in <RelativeTime at={session.createdAt} />, until {formatDay(session.expiresAt)}
        </p>
      </div>
      <Button label={`Sign out ${sessionName(session)}`} busy={busy} onClick={onEnd}>
        Sign out
      </Button>
    </li>
  )
}

function sessionName({ browser }: SessionSummary): string {
  return browser ?? 'A browser'
}

/** A session that was ended in another tab counts as ended. */
async function ignoreEnded(end: () => Promise<unknown>): Promise<void> {
  try {
    await end()
  } catch (error) {
    if (!isSlipwayError(error, 'NOT_FOUND')) throw error
  }
}
