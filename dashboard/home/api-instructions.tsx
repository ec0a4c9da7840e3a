import { settings } from '../api/settings.ts'
import { CopyBlock } from '../kit/copy.tsx'
import { Panel } from '../kit/panel.tsx'
import { archiveCall, createCall, FINALIZE_CALL, UPLOAD_CALL } from './commands.ts'

/** Requests to this server. */
export function ApiInstructions() {
  const { baseUrl } = settings
  return (
    <>
      <Panel title="In one request" lead="The body is a tar, tar.gz or ZIP of the folder.">
        <CopyBlock text={archiveCall(baseUrl)} of="the request" />
        <p class="quiet">
          The response has <code>siteUrl</code>, where the site is live, and <code>claimUrl</code>, which
          keeps it.
        </p>
      </Panel>
      <Panel title="In three calls">
        <ol class="steps">
          <li>
            <div class="stack tight">
              <p>Create a site with one page of 14 bytes.</p>
              <CopyBlock text={createCall(baseUrl)} of="the first call" />
            </div>
          </li>
          <li>
            <div class="stack tight">
              <p>
                Upload each file to its <code>url</code> from the response.
              </p>
              <CopyBlock text={UPLOAD_CALL} of="the second call" />
            </div>
          </li>
          <li>
            <div class="stack tight">
              <p>
                Make it live, with <code>finalizeUrl</code> and <code>versionId</code> from the first
                response.
              </p>
              <CopyBlock text={FINALIZE_CALL} of="the third call" />
            </div>
          </li>
        </ol>
      </Panel>
      <p>
        See the <a href="/docs/api">API reference</a>.
      </p>
    </>
  )
}
