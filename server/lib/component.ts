/** A part of the service that keeps the parts which it is built from. */
export class Component<Uses> {
  protected readonly parts: Uses

  constructor(parts: Uses) {
    this.parts = parts
  }
}
