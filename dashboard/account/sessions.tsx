import { useRef } from 'preact/hooks'
import type { SessionSummary } from '../../protocol/api/account.schema.ts'
import { pluralize } from '../../protocol/format.ts'
import { ignoreGone, useAction } from '../api/action.ts'
import { useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Badge, Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { LocalTime, RelativeTime } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'
import { useSignOut } from './sign-out.tsx'

/** Lists browser sessions and ends them. */
export function Sessions() {
  const signOut = useSignOut()
  const { value, set, error, reload } = useResource('me/sessions', () => slipway.sessions())
  const sessions = value?.sessions ?? []
  const others = sessions.filter(({ current }) => !current)
  const all = [...sessions.filter(({ current }) => current), ...others]
  const list = useRef<HTMLUListElement>(null)

  const end = useAction(async (session: SessionSummary) => {
    await slipway.endSession(session.id).catch(ignoreGone)
    set((known) => ({ sessions: known.sessions.filter(({ id }) => id !== session.id) }))
    list.current?.focus()
    showToast(`${sessionName(session)} signed out.`)
  })
  const endOthers = useAction(async () => {
    const { ended } = await slipway.endOtherSessions()
    set((known) => ({ sessions: known.sessions.filter(({ current }) => current) }))
    list.current?.focus()
    showToast(`${pluralize(ended, 'session')} signed out.`)
  })

  return (
    <Panel
      title="Active sessions"
      lead="Sessions last 30 days. Signing out doesn't affect API keys."
      actions={
        others.length > 0 && (
          <Button busy={endOthers.busy} onClick={endOthers}>
            Sign out other sessions
          </Button>
        )
      }
    >
      <ErrorNotice error={error} onRetry={reload} />
      <ErrorNotice error={end.error ?? endOthers.error ?? signOut.error} />
      {signOut.question}
      {!value && !error && <Loading what="the sessions" />}
      <ul class="browsers" ref={list} tabIndex={-1}>
        {all.map((session) => (
          <Row
            key={session.id}
            session={session}
            busy={session.current ? signOut.busy : end.busy}
            onEnd={() => (session.current ? signOut.start() : end(session))}
          />
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
          {sessionName(session)} {session.current && <Badge tone="good">This browser</Badge>}
        </p>
        <p class="quiet small">
          Signed in <RelativeTime at={session.createdAt} />, until <LocalTime at={session.expiresAt} />
        </p>
      </div>
      <Button label={`Sign out ${sessionName(session)}`} busy={busy} onClick={onEnd}>
        Sign out
      </Button>
    </li>
  )
}

function sessionName({ browser }: SessionSummary): string {
  return browser ?? 'Unknown browser'
}
