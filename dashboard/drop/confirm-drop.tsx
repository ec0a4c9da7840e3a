import { formatFileCount, stripControlChars } from '../../protocol/format.ts'
import { Button } from '../kit/button.tsx'
import { Icon } from '../kit/icon.tsx'
import { FocusedHeading } from './focused-heading.tsx'
import { NameList } from './name-list.tsx'
import type { Preflight } from './preflight.ts'
import type { Publication } from './publication.ts'

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
  const title = isEmpty
    ? 'There is nothing to publish in it.'
    : isFine
      ? 'Is this as you want it?'
      : 'This cannot be published as it is.'
  return (
    <>
      <FocusedHeading>{title}</FocusedHeading>
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
            Leave these out and publish {formatFileCount(publishable)}
          </Button>
        )}
        <Button onClick={onClose}>Choose something else</Button>
      </div>
    </>
  )
}

/** Files of the drop that are not in the site. */
export function IgnoredFiles({ preflight: { ignored, empty } }: { preflight: Preflight }) {
  return (
    <>
      <NameList title="Left out, as junk or secret" names={ignored} />
      <NameList title="Left out, being empty" names={empty} />
    </>
  )
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
