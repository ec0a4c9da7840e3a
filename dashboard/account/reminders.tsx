import type { Me, MeChange } from '../../protocol/api/account.ts'
import { useAction } from '../api/action.ts'
import { slipway } from '../api/slipway.ts'
import { Switch } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'

/** The emails that an account can do without. */
export function Reminders({ me, onChanged }: { me: Me; onChanged: (change: MeChange) => void }) {
  const set = useAction(async (reminders: boolean) => onChanged(await slipway.updateMe({ reminders })))
  return (
    <Panel title="Emails">
      <Switch
        label="Reminders"
        hint="Before a site expires, and after it is deleted. Problems with domains and new sign-ins are always sent."
        on={me.reminders}
        busy={set.busy}
        onSwitch={set}
      />
      <ErrorNotice error={set.error} />
    </Panel>
  )
}
