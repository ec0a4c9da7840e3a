import { formatFileCount, stripControlChars } from '../../protocol/format.ts'
import { Button } from '../kit/button.tsx'
import { Icon } from '../kit/icon.tsx'
import { NameList } from './name-list.tsx'
import type { Preflight } from './preflight.ts'
import type { Publication } from './publication.ts'
import { StepHeading } from './step-heading.tsx'

interface ConfirmDropProps {
  preflight: Preflight
  publication: Publication
  onClose: () => void
}

/** Findings and decisions before the first byte is sent. */
export function ConfirmDrop({ preflight, publication, onClose }: ConfirmDropProps) {
  const { files, errors, warnings, publishable, suggestedFolder } = preflight
  const isEmpty = files.length === 0
  const isFine = errors.length === 0 && !isEmpty
  const title = isEmpty ? 'Nothing to publish' : isFine ? 'Ready to publish?' : "This can't be published yet"
  return (
    <>
      <StepHeading focused>{title}</StepHeading>
      <MessageList sign="wrong" sentences={errors} />
      {errors.length === 0 && <MessageList sign="warning" sentences={warnings} />}
      <IgnoredFiles preflight={preflight} />
      <div class="choices">
        {suggestedFolder !== undefined && (
          <Button variant="main" onClick={() => publication.useSubfolder(preflight, suggestedFolder)}>
            Publish only {suggestedFolder}
          </Button>
        )}
        {isFine && (
          <Button
            variant={suggestedFolder === undefined ? 'main' : 'plain'}
            onClick={() => publication.publish(preflight)}
          >
            Publish {formatFileCount(files)}
          </Button>
        )}
        {publishable && (
          <Button onClick={() => publication.excludeUnpublishable(preflight)}>
            Skip these and publish {formatFileCount(publishable)}
          </Button>
        )}
        <Button onClick={onClose}>Choose different files</Button>
      </div>
    </>
  )
}

/** Files of the drop that are not in the site. */
export function IgnoredFiles({ preflight: { ignored } }: { preflight: Preflight }) {
  return <NameList kind="private or system file" names={ignored} />
}

function MessageList({ sign, sentences }: { sign: 'wrong' | 'warning'; sentences: readonly string[] }) {
  if (sentences.length === 0) return null
  return (
    <ul class={`points ${sign}`}>
      {sentences.map((sentence) => (
        <li key={sentence}>
          <Icon name={sign} />
          <span>{stripControlChars(sentence)}</span>
        </li>
      ))}
    </ul>
  )
}
