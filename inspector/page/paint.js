// Draws ImGui's triangles with WebGL 2.
import {bytes} from './module.js';

const kVertexBytes = 20;
const kShaders = {
  VERTEX_SHADER: `#version 300 es
    layout(location = 0) in highp vec2 place;
    layout(location = 1) in vec2 part;
    layout(location = 2) in vec4 paint;
    uniform highp vec2 size;
    out highp vec2 texel;
    out vec4 colour;
    void main() {
      texel = part;
      colour = paint;
      gl_Position = vec4(place / size * vec2(2, -2) + vec2(-1, 1), 0, 1);
    }`,
  FRAGMENT_SHADER: `#version 300 es
    precision mediump float;
    in highp vec2 texel;
    in vec4 colour;
    uniform sampler2D font;
    out vec4 pixel;
    void main() { pixel = colour * texture(font, texel); }`,
};

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext('webgl2', {alpha: false, antialias: false, preserveDrawingBuffer: true});
    if (this.gl) this.prepare();
  }

  /// Makes what the context holds: at the beginning, and when a lost context comes back.
  prepare() {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [kind, source] of Object.entries(kShaders)) {
      const shader = gl.createShader(gl[kind]);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    this.size = gl.getUniformLocation(program, 'size');
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.SCISSOR_TEST);
    for (const attribute of [0, 1, 2]) gl.enableVertexAttribArray(attribute);
    this.cleared = false;
  }

  /// Takes the canvas's size in pixels; the next list begins a new picture.
  begin(width, height) {
    const {canvas} = this;
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    this.cleared = false;
  }
  clear() {
    const {gl, canvas} = this;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.uniform2f(this.size, canvas.width, canvas.height);
    gl.scissor(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    this.cleared = true;
  }

  texture(at, width, height) {
    const {gl} = this;
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes(at, width * height * 4));
  }
  list(vertices, vertexBytes, indices, indexBytes) {
    if (!this.cleared) this.clear();
    const {gl} = this;
    gl.bufferData(gl.ARRAY_BUFFER, bytes(vertices, vertexBytes), gl.STREAM_DRAW);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, bytes(indices, indexBytes), gl.STREAM_DRAW);
  }
  draw(x0, y0, x1, y1, count, first, base) {
    const {gl} = this;
    gl.scissor(x0, this.canvas.height - y1, Math.max(0, x1 - x0), Math.max(0, y1 - y0));
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, kVertexBytes, base);
    gl.vertexAttribPointer(1, 2, gl.FLOAT, false, kVertexBytes, base + 8);
    gl.vertexAttribPointer(2, 4, gl.UNSIGNED_BYTE, true, kVertexBytes, base + 16);
    gl.drawElements(gl.TRIANGLES, count, gl.UNSIGNED_SHORT, first);
  }
}
