import type { ComponentChildren } from 'preact'
import { Button } from '../kit/button.tsx'
import { Icon } from '../kit/icon.tsx'
import { HAS_FOLDERS, useFilePickers } from './file-pickers.tsx'
import type { Selection } from './selection.ts'

interface DropBoxProps {
  title: string
  /** For phones, which cannot drag. */
  phoneTitle: string
  /** Below the buttons. */
  children?: ComponentChildren
  size: 'page' | 'panel'
  /** `plain` where another action is the primary one. */
  variant?: 'main' | 'plain'
  onPicked: (picked: Selection) => void
}

/** A drop zone with buttons for pickers. */
export function DropBox({ title, phoneTitle, children, size, variant = 'main', onPicked }: DropBoxProps) {
  return (
    <div class={`drop-box ${size}`}>
      <Icon name="upload" size={size === 'page' ? 40 : 28} />
      <p class="title">{HAS_FOLDERS ? title : phoneTitle}</p>
      <PickButtons variant={variant} onPicked={onPicked} />
      {children}
    </div>
  )
}

function PickButtons({ variant, onPicked }: Required<Pick<DropBoxProps, 'variant' | 'onPicked'>>) {
  const labels = { folder: 'A folder', files: 'Files or a ZIP' }
  const { chooseFolder, chooseFiles, inputs } = useFilePickers(labels, onPicked)
  return (
    <div class="choices">
      {chooseFolder && (
        <Button variant={variant} icon="folder" onClick={chooseFolder}>
          Choose a folder
        </Button>
      )}
      <Button variant={chooseFolder ? 'plain' : variant} icon="files" onClick={chooseFiles}>
        Choose files or a ZIP
      </Button>
      {inputs}
    </div>
  )
}
