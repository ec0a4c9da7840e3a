import { useRef, useState } from 'preact/hooks'
import type { AuthorizedProgram } from '../../protocol/api/programs.schema.ts'
import type { ProgramScope } from '../../protocol/api/programs.ts'
import { ignoreGone, useAction } from '../api/action.ts'
import { useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { LocalTime, RelativeTime } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'

const SCOPES: Record<ProgramScope, string> = {
  read: 'May see your sites',
  publish: 'May see your sites and publish',
  manage: 'May see, publish, change and delete your sites, and manage your domains',
}

/** Lists programs with access to the account, and ends it. */
export function Programs() {
  const { value, set, error, reload } = useResource('me/programs', () => slipway.programs())
  const list = useRef<HTMLUListElement>(null)
  const [ending, setEnding] = useState<AuthorizedProgram | undefined>(undefined)
  const revoke = useAction(async () => {
    const { id, program } = ending!
    await slipway.revokeProgram(id).catch(ignoreGone)
    set((known) => ({ programs: known.programs.filter((one) => one.id !== id) }))
    setEnding(undefined)
    list.current?.focus()
    showToast(`${program} has no access any more.`)
  })
  return (
    <Panel title="Programs" lead="Chats and editors that you have connected.">
      <ErrorNotice error={error} onRetry={reload} />
      {!value && !error && <Loading what="the programs" />}
      {value?.programs.length === 0 && <p>No program has access.</p>}
      <ul class="browsers" ref={list} tabIndex={-1}>
        {value?.programs.map((one) => (
          <li key={one.id}>
            <div>
              <p class="title">
                <bdi>{one.program}</bdi>
              </p>
              <p>{SCOPES[one.scope]}</p>
              <p class="quiet small">
                Connected <RelativeTime at={one.createdAt} />, until <LocalTime at={one.expiresAt} />
              </p>
            </div>
            <Button label={`End access of ${one.program}`} onClick={() => setEnding(one)}>
              End access
            </Button>
          </li>
        ))}
      </ul>
      {ending && (
        <Confirm
          title={`End access of ${ending.program}?`}
          verb="End access"
          action={revoke}
          onClose={() => setEnding(undefined)}
        >
          <p>The program stops working with your account immediately, until you connect it again.</p>
        </Confirm>
      )}
    </Panel>
  )
}
