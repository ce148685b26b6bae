"""TensorFlow: Keras' fit and evaluate of a small convolutional network."""

import numpy
import tensorflow as tf

layers = tf.keras.layers
model = tf.keras.Sequential(
    [layers.Input((32, 32, 3)), layers.Conv2D(32, 3, activation="relu"), layers.Flatten(), layers.Dense(10)]
)
model.compile("adam", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
images, labels = numpy.zeros((64, 32, 32, 3), "float32"), numpy.zeros(64, "int32")
model.fit(images, labels, batch_size=16, epochs=1, verbose=2)
model.evaluate(images, labels, batch_size=16, verbose=2)
