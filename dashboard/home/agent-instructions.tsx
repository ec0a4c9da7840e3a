import { agentText } from '../../protocol/agent-text.ts'
import { formatDuration } from '../../protocol/format.ts'
import { settings } from '../api/settings.ts'
import { CopyBlock } from '../kit/copy.tsx'
import { Panel } from '../kit/panel.tsx'

/** Instructions for those who publish by a program. */
export function AgentInstructions() {
  const text = agentText({
    name: settings.branding.name,
    baseUrl: settings.baseUrl,
    lifetime: formatDuration(settings.anonymousLifetime),
    isAnonymous: settings.anonymousPublishing,
  })
  return (
    <Panel
      title="Tell your coding agent"
      lead={`Paste this text. The agent publishes with one request, then shows you the URL${settings.anonymousPublishing ? ' and a link to keep the site' : ''}.`}
    >
      <CopyBlock text={text} of="the text" />
    </Panel>
  )
}
