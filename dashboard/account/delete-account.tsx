import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import type { Me } from '../../protocol/api/account.schema.ts'
import { formatBytes, pluralize } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { rememberSignedIn } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { Panel } from '../kit/panel.tsx'
import { showToast } from '../kit/toast.tsx'

/** Deletes the account with everything in it, after its address was typed. */
export function DeleteAccount({ me }: { me: Me }) {
  const { route } = useLocation()
  const [isConfirming, setConfirming] = useState(false)
  const deleteAccount = useAction(async () => {
    const result = await slipway.deleteAccount(me.email).then(() => 'Account deleted.', describeClosed)
    route('/')
    rememberSignedIn(null)
    showToast(result)
  })
  return (
    <Panel
      isDanger
      title="Delete account"
      lead="Permanently delete your account and all its sites."
      actions={
        <Button variant="danger" onClick={() => setConfirming(true)}>
          Delete account
        </Button>
      }
    >
      {isConfirming && (
        <Confirm
          title="Delete your account?"
          verb="Delete account"
          action={deleteAccount}
          typed={{ text: me.email, name: 'your email address' }}
          onClose={() => setConfirming(false)}
        >
          <p>This can't be undone. It deletes:</p>
          <ul>
            {describeLosses(me).map((what) => (
              <li key={what}>{what}</li>
            ))}
          </ul>
        </Confirm>
      )}
    </Panel>
  )
}

/** An account is closed before its data is deleted, which continues after an error. */
function describeClosed(error: unknown): string {
  if (isSlipwayError(error, 'UNAVAILABLE') && (error.details as { closed?: true } | undefined)?.closed)
    return error.message
  throw error
}

function describeLosses({ usage }: Me): string[] {
  const { sites, totalBytes, domains } = usage
  return [
    ...(sites > 0
      ? [
          `${pluralize(sites, 'site')} (${formatBytes(totalBytes)}) with all versions. Their addresses can't be reused.`,
        ]
      : []),
    ...(domains > 0 ? [`${pluralize(domains, 'domain')}: visitors can't open your sites there`] : []),
    'all keys and sessions',
  ]
}
