import { settings } from '../api/settings.ts'
import { CopyBlock } from '../kit/copy.tsx'
import { Panel } from '../kit/panel.tsx'
import { command, installCommand } from './commands.ts'

/** The command for this server. */
export function TerminalInstructions() {
  const { baseUrl } = settings
  return (
    <Panel title="With the command" lead="Run it again after a change: only changed files are uploaded.">
      <CopyBlock text={command(baseUrl)} of="the command" />
      <p class="quiet">
        Needs Node 18.18 or later. <code>{installCommand(baseUrl)}</code> installs it as <code>slipway</code>.
      </p>
    </Panel>
  )
}
