import { span } from '../../client/words.ts'
import { settings } from '../api/settings.ts'
import { CopyBlock } from '../kit/copy.tsx'
import { Panel } from '../kit/panel.tsx'
import { agentText } from './commands.ts'

/** A text for those who let a program write their site. */
export function FromAgent() {
  const text = agentText({ baseUrl: settings.baseUrl, lifetime: span(settings.anonymousLifetime) })
  return (
    <Panel
      title="Tell your coding agent"
      lead="Paste this text. The agent publishes with one request and gives you the address and a link to keep the site."
    >
      <CopyBlock text={text} of="the text" />
    </Panel>
  )
}
