import type { ComponentChildren, Ref } from 'preact'
import { useId } from 'preact/hooks'

interface Said {
  label: string
  /** What to know before writing. */
  hint?: ComponentChildren
  /** What is wrong with what is written. */
  wrong?: string | undefined
}

interface Written {
  value: string
  onWrite: (text: string) => void
  placeholder?: string | undefined
  maxLength?: number
  autocomplete?: string
  /** Beside the field's own. */
  class?: string
}

interface TextFieldProps extends Said, Written {
  type?: 'text' | 'email' | 'password' | 'search' | 'datetime-local'
  /** The first and the last date that can be chosen. */
  min?: string
  max?: string
  inputMode?: 'text' | 'email' | 'url'
  autocapitalize?: 'none' | 'characters'
  box?: Ref<HTMLInputElement>
}

/** A line to write, with its name, a hint and what is wrong with it. */
export function TextField({
  label,
  hint,
  wrong,
  type = 'text',
  box,
  value,
  onWrite,
  ...rest
}: TextFieldProps) {
  const id = useId()
  return (
    <Labelled id={id} label={label} hint={hint} wrong={wrong}>
      <input
        id={id}
        type={type as 'text'}
        ref={box ?? null}
        value={value}
        spellcheck={false}
        onInput={({ currentTarget }) => onWrite(currentTarget.value)}
        {...described(id, hint, wrong)}
        {...rest}
      />
    </Labelled>
  )
}

/** Several lines to write. */
export function TextArea({ label, hint, wrong, value, onWrite, ...rest }: Said & Written) {
  const id = useId()
  return (
    <Labelled id={id} label={label} hint={hint} wrong={wrong}>
      <textarea
        id={id}
        rows={3}
        value={value}
        onInput={({ currentTarget }) => onWrite(currentTarget.value)}
        {...described(id, hint, wrong)}
        {...rest}
      />
    </Labelled>
  )
}

interface ChoiceProps extends Said {
  value: string
  onChoose: (value: string) => void
  choices: readonly { value: string; name: string }[]
}

/** One of several. */
export function Choice({ label, hint, wrong, value, onChoose, choices }: ChoiceProps) {
  const id = useId()
  return (
    <Labelled id={id} label={label} hint={hint} wrong={wrong}>
      <select
        id={id}
        value={value}
        onChange={({ currentTarget }) => onChoose(currentTarget.value)}
        {...described(id, hint, wrong)}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.name}
          </option>
        ))}
      </select>
    </Labelled>
  )
}

interface SwitchProps {
  label: string
  hint?: ComponentChildren
  on: boolean
  busy?: boolean
  onSwitch: (on: boolean) => unknown
}

/** On or off, with effect at once. */
export function Switch({ label, hint, on, busy = false, onSwitch }: SwitchProps) {
  const id = useId()
  return (
    <div class="switch">
      <input
        id={id}
        type="checkbox"
        role="switch"
        checked={on}
        aria-checked={on}
        aria-disabled={busy}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onClick={(event) => {
          event.preventDefault()
          if (!busy) void onSwitch(!on)
        }}
      />
      <div>
        <label for={id}>{label}</label>
        {hint && (
          <p id={`${id}-hint`} class="quiet small">
            {hint}
          </p>
        )}
      </div>
    </div>
  )
}

function Labelled({ id, label, hint, wrong, children }: Said & { id: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {hint && (
        <p id={`${id}-hint`} class="quiet small">
          {hint}
        </p>
      )}
      <p id={`${id}-wrong`} class="wrong small" role="alert">
        {wrong}
      </p>
    </div>
  )
}

function described(id: string, hint: ComponentChildren, wrong: string | undefined) {
  const by = [hint ? `${id}-hint` : '', wrong ? `${id}-wrong` : ''].join(' ').trim()
  return { ...(by && { 'aria-describedby': by }), ...(wrong && { 'aria-invalid': true }) } as const
}
