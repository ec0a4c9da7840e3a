import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { Me } from '../../protocol/api/account.ts'
import { formatBytes, pluralize } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { rememberSignedIn } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { TextField } from '../kit/field.tsx'
import { Panel } from '../kit/panel.tsx'
import { showToast } from '../kit/toast.tsx'

/** Deletes the account with everything in it, after its address was typed. */
export function DeleteAccount({ me }: { me: Me }) {
  const { route } = useLocation()
  const [isConfirming, setConfirming] = useState(false)
  const [typed, write] = useState('')
  const deleteAccount = useAction(async () => {
    await slipway.deleteAccount(me.email)
    route('/')
    rememberSignedIn(null)
    showToast('Your account is deleted, and everything in it.')
  })
  const close = () => {
    setConfirming(false)
    write('')
    deleteAccount.clear()
  }
  return (
    <Panel title="Leave" lead="Delete your account and everything in it, at once and for good.">
      <div class="choices">
        <Button variant="danger" onClick={() => setConfirming(true)}>
          Delete everything
        </Button>
      </div>
      {isConfirming && (
        <Confirm
          title="Delete your account?"
          verb="Delete everything"
          action={deleteAccount}
          ready={typed.trim().toLowerCase() === me.email}
          onClose={close}
        >
          <p>{`This goes at once, and nobody can bring it back:`}</p>
          <ul>
            {describeLosses(me).map((what) => (
              <li key={what}>{what}</li>
            ))}
          </ul>
          <TextField
            label="Your address, to be sure"
            hint={me.email}
            autocomplete="off"
            autocapitalize="none"
            inputMode="email"
            value={typed}
            onWrite={write}
          />
        </Confirm>
      )}
    </Panel>
  )
}

function describeLosses({ usage, hasKey }: Me): string[] {
  const { sites, totalBytes, domains } = usage
  return [
    sites === 0
      ? 'no site: you have none'
      : `${pluralize(sites, 'site')} (${formatBytes(totalBytes)}) with every version; ${sites === 1 ? 'its address is' : 'their addresses are'} never given out again`,
    ...(domains > 0 ? [`${pluralize(domains, 'domain')}: visitors find nothing there any more`] : []),
    `${hasKey ? 'your API key and ' : ''}every sign-in, this one too`,
  ]
}
