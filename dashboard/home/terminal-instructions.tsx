import { settings } from '../api/settings.ts'
import { CopyBlock } from '../kit/copy.tsx'
import { Panel } from '../kit/panel.tsx'
import { archiveCall, command, createCall, FINALIZE_CALL, installCommand, UPLOAD_CALL } from './commands.ts'

/** Commands for this server. */
export function TerminalInstructions() {
  const { baseUrl } = settings
  return (
    <>
      <Panel
        title="With the command"
        lead="It prints the address. Run it again after a change: the site is updated, and only what changed is uploaded."
      >
        <CopyBlock text={command(baseUrl)} of="the command" />
        <p class="quiet">
          It needs Node 18 or later. <code>{installCommand(baseUrl)}</code> installs it, for a shorter
          command: <code>slipway publish ./folder</code>.
        </p>
      </Panel>
      <Panel title="With curl, in one request" lead="A tar, tar.gz or zip of the folder is enough.">
        <CopyBlock text={archiveCall(baseUrl)} of="the request" />
        <p class="quiet">
          The site is at <code>siteUrl</code>. Keep the <code>claimUrl</code>: open it to make the site yours.
        </p>
      </Panel>
      <Panel title="With curl, in three calls">
        <ol class="steps">
          <li>
            <div class="stack tight">
              <p>Say what you publish: here one page of 14 bytes.</p>
              <CopyBlock text={createCall(baseUrl)} of="the first call" />
            </div>
          </li>
          <li>
            <div class="stack tight">
              <p>
                Upload each file to the <code>url</code> that the answer gives for it.
              </p>
              <CopyBlock text={UPLOAD_CALL} of="the second call" />
            </div>
          </li>
          <li>
            <div class="stack tight">
              <p>
                Make it live, with <code>finalizeUrl</code> and <code>versionId</code> from the first answer.
              </p>
              <CopyBlock text={FINALIZE_CALL} of="the third call" />
            </div>
          </li>
        </ol>
      </Panel>
      <p>
        Everything else is in the <a href="/docs">API reference</a>.
      </p>
    </>
  )
}
