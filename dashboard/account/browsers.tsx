import { useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import type { SessionSummary } from '../../client/wire.ts'
import { count } from '../../client/words.ts'
import { useAction } from '../api/action.ts'
import { useResource } from '../api/resource.ts'
import { rememberSignedIn } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { day } from '../app/time-words.ts'
import { Button } from '../kit/button.tsx'
import { Trouble } from '../kit/notice.tsx'
import { Badge, Loading, Panel } from '../kit/panel.tsx'
import { Ago } from '../kit/time.tsx'
import { say } from '../kit/toast.tsx'

/** Where somebody is signed in, and the end of it. */
export function Browsers() {
  const { route } = useLocation()
  const { value, set, failing, reload } = useResource('me/sessions', () => slipway.sessions())
  const sessions = value?.sessions ?? []
  const others = sessions.filter(({ current }) => !current)
  const all = [...sessions.filter(({ current }) => current), ...others]
  const list = useRef<HTMLUListElement>(null)

  const end = useAction(async (session: SessionSummary) => {
    await endedAlready(() => slipway.endSession(session.id))
    if (session.current) {
      route('/')
      rememberSignedIn(null)
      return say('You are signed out.')
    }
    set((known) => ({ sessions: known.sessions.filter(({ id }) => id !== session.id) }))
    list.current?.focus()
    say(`${nameOf(session)} is signed out.`)
  })
  const endOthers = useAction(async () => {
    const { ended } = await slipway.endOtherSessions()
    set((known) => ({ sessions: known.sessions.filter(({ current }) => current) }))
    list.current?.focus()
    say(`${count(ended, 'other browser')} signed out.`)
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
      <Trouble failing={failing} onAgain={reload} />
      <Trouble failing={end.failing ?? endOthers.failing} />
      {!value && !failing && <Loading what="the browsers" />}
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
          {nameOf(session)} {session.current && <Badge tone="good">this one</Badge>}
        </p>
        <p class="quiet small">
          Signed in <Ago at={session.createdAt} />, until {day(session.expiresAt)}
        </p>
      </div>
      <Button label={`Sign out ${nameOf(session)}`} busy={busy} onClick={onEnd}>
        Sign out
      </Button>
    </li>
  )
}

function nameOf({ browser }: SessionSummary): string {
  return browser ?? 'A browser'
}

/** What was ended in another tab meanwhile is ended. */
async function endedAlready(end: () => Promise<unknown>): Promise<void> {
  try {
    await end()
  } catch (error) {
    if (!isSlipwayError(error, 'NOT_FOUND')) throw error
  }
}
